import { apiVersionOf } from '#/api/resource.ts'
import { defineCommand, type Invocation } from '../command.ts'
import type { RestMapping } from '../discovery/rest-mapper.ts'
import { CommandUsageError } from '../errors.ts'
import { boolFlag, stringFlag, stringSliceFlag } from '../flag-types.ts'
import { objectPrinterOf, printFlags, unknownFormat } from '../printers/object-printer.ts'
import { tableWidths, TabWriter } from '../printers/tab-writer.ts'

const flags = {
  'api-group': stringFlag('Only resources of this API group.'),
  'cached': boolFlag('Use the cached list of resources if there is one.'),
  'categories': stringSliceFlag('Only resources in all of these categories.'),
  'namespaced': boolFlag('Only namespaced resources; with false, only cluster-scoped ones.', {
    shownDefault: 'true',
  }),
  'no-headers': boolFlag('Omit the header.'),
  'output': stringFlag('Output format: json, yaml, kyaml, name or wide.', { shorthand: 'o' }),
  'show-managed-fields': printFlags['show-managed-fields'],
  'sort-by': stringFlag("Sort by this field: 'name' or 'kind'."),
  'verbs': stringSliceFlag('Only resources that support all of these verbs.'),
}

const formats = ['', 'json', 'yaml', 'kyaml', 'name', 'wide']

export const command = defineCommand({
  usage: 'api-resources [flags]',
  description: 'Lists the API resources of the server.',
  examples: `  # All resources
  kubectl api-resources

  # With verbs and categories
  kubectl api-resources -o wide

  # Sorted by a column
  kubectl api-resources --sort-by=name

  # Only cluster-scoped resources
  kubectl api-resources --namespaced=false

  # The resources of an API group
  kubectl api-resources --api-group=rbac.authorization.k8s.io`,
  flags,
  async run(invocation) {
    const { args, factory } = invocation
    const { 'sort-by': sortBy = '', output = '', cached } = invocation.flags
    if (args.length > 0) throw new CommandUsageError(`unexpected arguments: [${args.join(' ')}]`)
    if (!formats.includes(output)) throw unknownFormat(output, formats.slice(1))
    if (!['', 'name', 'kind'].includes(sortBy)) throw new Error('--sort-by accepts only name or kind')
    const mapper = await factory.restMapper()
    if (!cached) mapper.discovery.invalidate()
    const found = await mapper.preferredResources()
    await print(
      invocation,
      sorted(
        found.filter(each => isSelected(each, invocation)),
        sortBy,
      ),
    )
    const stale = await mapper.staleGroupVersions()
    if (stale.length > 0) throw incompleteError(stale)
  },
})

type ApiResourcesInvocation = Invocation<typeof flags>

function isSelected(
  { group, scope, verbs, categories }: RestMapping,
  { flags: given }: ApiResourcesInvocation,
): boolean {
  const {
    'api-group': wantedGroup,
    namespaced,
    'verbs': wantedVerbs = [],
    'categories': wantedCategories = [],
  } = given
  return (
    verbs.length > 0 &&
    (wantedGroup === undefined || group === wantedGroup) &&
    (namespaced === undefined || (scope === 'Namespaced') === namespaced) &&
    wantedVerbs.every(verb => verbs.some(each => each === verb)) &&
    wantedCategories.every(category => categories.includes(category))
  )
}

function sorted(resources: readonly RestMapping[], sortBy: string): readonly RestMapping[] {
  const keyOf = ({ plural, kind, group }: RestMapping): string => ({ name: plural, kind })[sortBy] ?? group
  return resources.toSorted((a, b) => compareTexts(keyOf(a), keyOf(b)) || compareTexts(a.plural, b.plural))
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

async function print(
  { flags: given, factory, streams }: ApiResourcesInvocation,
  resources: readonly RestMapping[],
): Promise<void> {
  const { output = '', 'no-headers': noHeaders } = given
  if (output === 'name') {
    for (const { plural, group } of resources)
      streams.write(group === '' ? `${plural}\n` : `${plural}.${group}\n`)
    return
  }
  const printer = await objectPrinterOf({
    flags: given,
    machine: factory.machine,
    otherFormats: ['wide'],
    keepsFieldOrder: true,
  })
  if (printer !== undefined) {
    streams.write(
      printer({
        kind: 'APIResourceList',
        apiVersion: 'v1',
        groupVersion: '',
        resources: resources.map(toApiResource),
      }),
    )
    return
  }
  const isWide = output === 'wide'
  const table = new TabWriter({ ...tableWidths, write: text => streams.write(text) })
  const headers = [
    'NAME',
    'SHORTNAMES',
    'APIVERSION',
    'NAMESPACED',
    'KIND',
    ...(isWide ? ['VERBS', 'CATEGORIES'] : []),
  ]
  if (!noHeaders) table.write(`${headers.join('\t')}\n`)
  for (const resource of resources) {
    const { plural, shortNames, scope, kind, verbs, categories } = resource
    const cells = [plural, shortNames.join(','), apiVersionOf(resource), scope === 'Namespaced', kind]
    table.write(`${[...cells, ...(isWide ? [verbs.join(','), categories.join(',')] : [])].join('\t')}\n`)
  }
  table.flush()
}

function toApiResource({
  plural,
  singular,
  scope,
  group,
  version,
  kind,
  verbs,
  shortNames,
  categories,
}: RestMapping) {
  return {
    name: plural,
    singularName: singular,
    namespaced: scope === 'Namespaced',
    ...(group !== '' && { group }),
    version,
    kind,
    verbs: [...verbs],
    ...(shortNames.length > 0 && { shortNames: [...shortNames] }),
    ...(categories.length > 0 && { categories: [...categories] }),
  }
}

function incompleteError(stale: readonly string[]): Error {
  const reasons = stale.map(groupVersion => `${groupVersion}: stale GroupVersion discovery: ${groupVersion}`)
  return new Error(`unable to retrieve the complete list of server APIs: ${reasons.join(', ')}`)
}
