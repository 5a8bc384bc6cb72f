/** Resource names in the encryption configuration, and the mapping of store keys to resources. */
import { builtinResources } from '#/api/builtin.ts'
import { invalid, type FieldError } from '#/api/field-error.ts'
import { qualifiedResourceName } from '#/api/resource.ts'
import { prefixOf, storeRoot } from '../registry/store-keys.ts'

export interface GroupResource {
  readonly group: string
  readonly plural: string
}

/** Parses `deployments.apps`; without a dot the group is core. */
function parseGroupResource(name: string): GroupResource {
  const point = name.indexOf('.')
  return point === -1
    ? { plural: name, group: '' }
    : { plural: name.slice(0, point), group: name.slice(point + 1) }
}

/** True if the name matches the resource; `*.*`, `*.` and `*.apps` are wildcards. */
export function includesResource(name: string, { group, plural }: GroupResource): boolean {
  const named = parseGroupResource(name)
  if (named.plural === '*') return named.group === '*' || named.group === group
  return named.plural === plural && named.group === group
}

/** The resource stored under this prefix; undefined if unknown. */
export function resourceOfPrefix(folder: string): GroupResource | undefined {
  builtin ??= builtinFolders()
  const known = builtin.get(folder)
  if (known) return known
  const [group = '', plural] = folder.split('/')
  return plural === undefined ? undefined : { group, plural }
}

let builtin: ReadonlyMap<string, GroupResource> | undefined

function builtinFolders(): ReadonlyMap<string, GroupResource> {
  const folders = new Map<string, GroupResource>()
  for (const resource of builtinResources()) {
    const folder = prefixOf(resource, '').slice(storeRoot.length, -1)
    // Events are served in two groups and stored under the core group.
    const { group, plural } = resource
    if (!folders.has(folder) || group === '') folders.set(folder, { group, plural })
  }
  return folders
}

export function validateResourceNames(field: string, names: readonly string[]): FieldError[] {
  return [
    ...validateOverlap(field, names),
    ...names.flatMap((name, index) => {
      const detail = whyNotName(name)
      return detail === undefined ? [] : [invalid(`${field}[${index}]`, name, detail)]
    }),
  ]
}

const notServed: ReadonlySet<string> = new Set([
  'apiserveripinfo',
  'serviceipallocations',
  'servicenodeportallocations',
])

function whyNotName(name: string): string | undefined {
  if (/[A-Z]/.test(name)) return 'resource name should not contain capital letters'
  if (name === '*')
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
  if (notServed.has(name)) return 'resources which do not have REST API/s cannot be encrypted'
  const { group, plural } = parseGroupResource(name)
  if (group === 'events.k8s.io') {
    const advice = "Use 'events' instead in the config file"
    return `'*.events.k8s.io' objects are stored using the 'events' API group in etcd. ${advice}`
  }
  if (group === 'extensions') return "'extensions' group has been removed and cannot be used for encryption"
  if (group === '*' && plural !== '*') return 'encrypting the same resource across groups is not supported'
  return undefined
}

/** A resource that is listed twice in one list would be masked. */
function validateOverlap(field: string, names: readonly string[]): FieldError[] {
  const resources = names.map(parseGroupResource)
  const isTwice = new Set(resources.map(qualifiedResourceName)).size < names.length
  const hasOverlap = resources.some((left, index) =>
    resources.some((right, other) => {
      if (index === other || (left.group === right.group && left.plural === right.plural)) return false
      if (left.group === '*' && left.plural === '*') return true
      return left.group === right.group && left.plural === '*'
    }),
  )
  const masked =
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed " +
    'as they will be masked'
  return [
    ...(isTwice ? [invalid(field, names, 'the same resource cannot be specified multiple times')] : []),
    ...(hasOverlap ? [invalid(field, names, masked)] : []),
  ]
}
