/** The table of resources, from the paths of the package's requests and the overlays. */
import { groups } from '#/api/kinds/groups.ts'
import type { Overlays, ResourceFacts } from '#/api/kinds/overlay.ts'
import { compareVersions, isStableVersion } from '#/api/text/version-priority.ts'
import type { BuiltinRow, SubresourceRow } from '#/api/builtin.ts'
import { servedGroupVersion } from './name-definitions.ts'
import type { Operation } from './operations.ts'

interface Path {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly subresource: string
  readonly namespaced: boolean
  /** True if the path names one object. */
  readonly item: boolean
}

export function buildResources(
  operations: readonly Operation[],
  names: ReadonlyMap<string, string>,
  overlays: Overlays,
): readonly BuiltinRow[] {
  const byResource = new Map<string, { path: Path; operation: Operation }[]>()
  for (const operation of operations) {
    const path = readPath(operation.path)
    if (!path) continue
    const key = `${path.group}/${path.version}/${path.plural}`
    byResource.set(key, [...(byResource.get(key) ?? []), { path, operation }])
  }
  checkOverlayResources(overlays, new Set(byResource.keys()))
  const drafts = [...byResource.values()]
    .map(requests => buildRow(requests, names, overlays))
    .sort(compareRows)
  return drafts.map(draft => withStorage(draft, drafts))
}

function readPath(text: string): Path | undefined {
  const served = servedGroupVersion(text)
  if (!served) return undefined
  const rest = text.split('/').slice(served.group === '' ? 3 : 4)
  const namespaced = rest[0] === 'namespaces' && rest[1] === '{namespace}'
  const [plural = '', name, subresource = '', more] = namespaced ? rest.slice(2) : rest
  if (plural === '' || more !== undefined) return undefined
  return { ...served, plural, subresource, namespaced, item: name !== undefined }
}

type Draft = Omit<BuiltinRow, 'storage'> & { readonly storage: BuiltinRow['storage'] | undefined }

interface Request {
  readonly path: Path
  readonly operation: Operation
}

function buildRow(
  requests: readonly Request[],
  names: ReadonlyMap<string, string>,
  overlays: Overlays,
): Draft {
  const first = requests[0]
  if (!first) throw new Error('a resource without requests')
  const { group, version, plural } = first.path
  const facts = overlays[packageOf(group)]?.resources?.[plural] ?? {}
  const own = requests.filter(({ path }) => path.subresource === '')
  const definition = definitionSpoken(own, names)
  if (definition === undefined) throw new Error(`${plural} of ${group}/${version} has no kind`)
  const list = own.find(({ path, operation }) => !path.item && operation.method === 'GET')
  const kind = lastPart(definition)
  return {
    group,
    version,
    plural,
    kind,
    ...(list && { listKind: lastPart(names.get(list.operation.response) ?? `${kind}List`) }),
    definition,
    scope: requests.some(({ path }) => path.namespaced) ? 'Namespaced' : 'Cluster',
    verbs: verbsOf(own)
      .filter(verb => !facts.without?.includes(verb))
      .join(' '),
    ...(facts.shortNames && { shortNames: facts.shortNames }),
    ...(facts.categories && { categories: facts.categories }),
    subresources: buildSubresources(requests, { group, version, kind }, { names, facts }),
    storage: facts.storedAs,
    ...(facts.hashedVersion !== undefined && { hashedVersion: facts.hashedVersion }),
    enabledByDefault: isStableVersion(version),
  }
}

interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

function buildSubresources(
  requests: readonly Request[],
  parent: Kind,
  { names, facts }: { readonly names: ReadonlyMap<string, string>; readonly facts: ResourceFacts },
): readonly SubresourceRow[] {
  const found = [...new Set(requests.map(({ path }) => path.subresource))].filter(name => name !== '').sort()
  for (const name of Object.keys(facts.options ?? {})) {
    if (!found.includes(name)) throw new Error(`${parent.kind} has no subresource ${name}`)
  }
  return found.map(name => {
    const own = requests.filter(({ path }) => path.subresource === name)
    const definition = definitionSpoken(own, names)
    const options = facts.options?.[name]
    if (options === undefined && own.some(({ operation }) => operation.name.startsWith('connect'))) {
      throw new Error(`no overlay says which options ${parent.kind} takes for ${name}`)
    }
    const { group, version, kind } = definition === undefined ? parent : kindOf(definition)
    return { name, group, version, kind: options ?? kind, verbs: verbsOf(own).join(' ') }
  })
}

/**
 * The definition in the bodies and responses of these requests, except for lists, delete options and delete
 * responses.
 */
function definitionSpoken(
  requests: readonly Request[],
  names: ReadonlyMap<string, string>,
): string | undefined {
  for (const { path, operation } of requests) {
    if (operation.method === 'DELETE' || (operation.method === 'GET' && !path.item)) continue
    const definition = names.get(operation.body) ?? names.get(operation.response)
    if (definition !== undefined) return definition
  }
  return undefined
}

const itemVerbs: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
}
const collectionVerbs: Readonly<Record<string, string>> = {
  GET: 'list',
  POST: 'create',
  DELETE: 'deletecollection',
}

function verbsOf(requests: readonly Request[]): readonly string[] {
  const verbs = new Set<string>()
  for (const { path, operation } of requests) {
    const verb = (path.item ? itemVerbs : collectionVerbs)[operation.method]
    if (verb !== undefined) verbs.add(verb)
    if (verb === 'list' && operation.parameters.includes('watch')) verbs.add('watch')
  }
  return [...verbs].sort()
}

/** The storage version is the most stable version of the kind, unless an overlay sets it. */
function withStorage(draft: Draft, drafts: readonly Draft[]): BuiltinRow {
  const { group, kind, version } = draft
  const versions = drafts.filter(each => each.group === group && each.kind === kind).map(each => each.version)
  const storage = draft.storage ?? { group, version: versions.sort(compareVersions)[0] ?? version }
  if (!drafts.some(each => each.group === storage.group && each.version === storage.version)) {
    throw new Error(`${draft.plural} are stored in ${storage.group}/${storage.version}, which does not exist`)
  }
  return { ...draft, storage }
}

function compareRows(a: Draft, b: Draft): number {
  const order = (group: string): number => groups.findIndex(each => each.name === group)
  return (
    order(a.group) - order(b.group) || compareVersions(a.version, b.version) || (a.plural < b.plural ? -1 : 1)
  )
}

function kindOf(definition: string): Kind {
  const [owner = '', version = '', kind = ''] = definition.split('.')
  const group = groups.find(each => each.package === owner)
  if (!group) throw new Error(`${definition} is of no known group`)
  return { group: group.name, version, kind }
}

function packageOf(group: string): string {
  return groups.find(each => each.name === group)?.package ?? group
}

function lastPart(definition: string): string {
  return definition.slice(definition.lastIndexOf('.') + 1)
}

function checkOverlayResources(overlays: Overlays, known: ReadonlySet<string>): void {
  const resources = new Set(
    [...known].map(key => {
      const [group = '', , plural] = key.split('/')
      return `${packageOf(group)}/${plural}`
    }),
  )
  for (const [group, overlay] of Object.entries(overlays)) {
    for (const plural of Object.keys(overlay.resources ?? {})) {
      if (!resources.has(`${group}/${plural}`)) {
        throw new Error(`the overlay of ${group} speaks of the resource ${plural}, which does not exist`)
      }
    }
  }
}
