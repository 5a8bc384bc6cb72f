/**
 * Maps models of the package to definitions: `V1ServicePort` is `core.v1.ServicePort`. The package does not
 * preserve the group, so it is inferred: a model belongs to the group with requests that reference it, or to
 * core if core's requests do, since other groups depend on core and never the reverse.
 */
import { groups } from '#/api/kinds/groups.ts'
import { mentionedModels, type Model } from './models.ts'
import type { Operation } from './operations.ts'

export interface GroupVersion {
  readonly group: string
  readonly version: string
}

/** Versions in the package that Kubernetes v1.36 no longer serves. */
const leftOut: ReadonlySet<string> = new Set([
  'authentication.k8s.io/v1alpha1',
  'authentication.k8s.io/v1beta1',
  'flowcontrol.apiserver.k8s.io/v1beta3',
  'networking.k8s.io/v1alpha1',
  'resource.k8s.io/v1alpha2',
  'scheduling.k8s.io/v1alpha1',
  'storage.k8s.io/v1alpha1',
  'storagemigration.k8s.io/v1alpha1',
])

/** Types shared by all groups. */
const metaTypes: ReadonlySet<string> = new Set([
  'APIGroup',
  'APIGroupList',
  'APIResource',
  'APIResourceList',
  'APIVersions',
  'Condition',
  'DeleteOptions',
  'FieldSelectorRequirement',
  'GroupResource',
  'GroupVersionForDiscovery',
  'LabelSelector',
  'LabelSelectorRequirement',
  'ListMeta',
  'ManagedFieldsEntry',
  'ObjectMeta',
  'OwnerReference',
  'Preconditions',
  'ServerAddressByClientCIDR',
  'ShardInfo',
  'Status',
  'StatusCause',
  'StatusDetails',
  'WatchEvent',
])

/** Kinds that are used only by subresources of other groups. */
const borrowed: Readonly<Record<string, string>> = {
  V1Eviction: 'policy',
  V1Scale: 'autoscaling',
  AuthenticationV1TokenRequest: 'authentication',
}

/** Types of core that no request of core references. */
const coreTypes: ReadonlySet<string> = new Set([
  'V1TopologySelectorTerm',
  'V1TopologySelectorLabelRequirement',
])

/** The group and version of a path; undefined when it is not a path of a served version. */
export function servedGroupVersion(path: string): GroupVersion | undefined {
  const [, root, group = '', version = ''] = path.split('/')
  if (root === 'api' && group === 'v1') return { group: '', version: 'v1' }
  if (root !== 'apis' || !/^v\d/.test(version) || leftOut.has(`${group}/${version}`)) return undefined
  return { group, version }
}

/** The short definition name of every served model. */
export function nameDefinitions(
  models: ReadonlyMap<string, Model>,
  operations: readonly Operation[],
): ReadonlyMap<string, string> {
  const reachedBy = packagesReaching(models, operations)
  const names = new Map<string, string>([['VersionInfo', 'version.Info']])
  for (const model of models.keys()) {
    const parts = /^([A-Z][a-z]+)?(V\d+(?:(?:alpha|beta)\d+)?)([A-Z]\w*)$/.exec(model)
    const [, prefix, version, name] = parts ?? []
    if (version === undefined || name === undefined) continue
    const shared = prefix === undefined && version === 'V1' && metaTypes.has(name)
    const home = shared ? 'meta' : homeOf({ model, prefix }, reachedBy.get(model) ?? new Set())
    if (home !== undefined) names.set(model, `${home}.${version.toLowerCase()}.${name}`)
  }
  return names
}

function homeOf(
  { model, prefix }: { readonly model: string; readonly prefix: string | undefined },
  packages: ReadonlySet<string>,
): string | undefined {
  if (packages.size === 0) return undefined
  if (prefix !== undefined) return prefix.toLowerCase()
  if (packages.has('core') || coreTypes.has(model)) return 'core'
  const [first, second] = packages
  if (second !== undefined) throw new Error(`${model} could belong to ${[...packages].join(' or ')}`)
  return first
}

function packagesReaching(
  models: ReadonlyMap<string, Model>,
  operations: readonly Operation[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const packages = new Map(groups.map(group => [group.name, group.package]))
  const reachedBy = new Map<string, Set<string>>()
  const visit = (model: string, from: string): void => {
    const seen = reachedBy.get(model) ?? new Set()
    if (seen.has(from)) return
    reachedBy.set(model, seen.add(from))
    for (const field of models.get(model)?.fields ?? []) {
      for (const each of mentionedModels(field.type, models)) visit(each, from)
    }
  }
  for (const { path, body, response } of operations) {
    const served = servedGroupVersion(path)
    const from = served && packages.get(served.group)
    if (served && from === undefined) throw new Error(`the group ${served.group} is not a known one`)
    if (from === undefined) continue
    for (const model of [body, response]) if (models.has(model)) visit(model, borrowed[model] ?? from)
  }
  return reachedBy
}
