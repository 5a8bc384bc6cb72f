/**
 * Converts a `Policy` with predicates and priorities to a `KubeSchedulerConfiguration`. Kubernetes supported
 * such files until v1.22; parts without an equivalent are rejected, unless they had no effect.
 */
import { quote } from '#/api/text/quote.ts'
import type {
  ConfigurationFile,
  ExtenderFields,
  PluginConfigFields,
  PluginFields,
  PluginSetFields,
} from './fields.ts'
import { oldExtenderSchema } from './fields.ts'
import {
  boolean,
  ConfigurationError,
  integer,
  list,
  long,
  readFile,
  type FileKind,
  string,
  struct,
} from './schema.ts'

interface PolicyFile {
  readonly predicates?: readonly { readonly name?: string; readonly argument?: PredicateArgument }[]
  readonly priorities?: readonly PriorityFields[]
  readonly extenders?: readonly OldExtenderFields[]
  readonly hardPodAffinitySymmetricWeight?: number
}

interface PredicateArgument {
  readonly labelsPresence?: { readonly labels?: readonly string[]; readonly presence?: boolean }
  readonly serviceAffinity?: object
}

interface PriorityFields {
  readonly name?: string
  readonly weight?: number
  readonly argument?: PriorityArgument
}

interface PriorityArgument {
  readonly labelPreference?: { readonly label?: string; readonly presence?: boolean }
  readonly requestedToCapacityRatioArguments?: {
    readonly shape?: readonly { readonly utilization?: number; readonly score?: number }[]
    readonly resources?: readonly { readonly name?: string; readonly weight?: number }[]
  }
  readonly serviceAntiAffinity?: object
}

type OldExtenderFields = Omit<ExtenderFields, 'enableHTTPS' | 'httpTimeout'> & {
  readonly enableHttps?: boolean
  /** Nanoseconds. */
  readonly httpTimeout?: number | bigint
}

const labels = { labels: list(string), presence: boolean }
const shape = list(struct({ utilization: integer, score: integer }))
const resources = list(struct({ name: string, weight: long }))

const policySchema = struct({
  apiVersion: string,
  kind: string,
  predicates: list(
    struct({
      name: string,
      argument: struct({ labelsPresence: struct(labels), serviceAffinity: struct({ labels: list(string) }) }),
    }),
  ),
  priorities: list(
    struct({
      name: string,
      weight: long,
      argument: struct({
        labelPreference: struct({ label: string, presence: boolean }),
        requestedToCapacityRatioArguments: struct({ shape, resources }),
        serviceAntiAffinity: struct({ label: string }),
      }),
    }),
  ),
  extenders: list(oldExtenderSchema),
  hardPodAffinitySymmetricWeight: integer,
  alwaysCheckAllPredicates: boolean,
})

const policyKind: FileKind<PolicyFile> = { group: '', version: 'v1', kind: 'Policy', schema: policySchema }

const filtersByPredicate: ReadonlyMap<string, readonly string[]> = new Map([
  ['CheckNodeUnschedulable', ['NodeUnschedulable']],
  ['GeneralPredicates', ['NodeResourcesFit', 'NodeName', 'NodePorts', 'NodeAffinity']],
  ['HostName', ['NodeName']],
  ['PodFitsHostPorts', ['NodePorts']],
  ['PodFitsPorts', ['NodePorts']],
  ['MatchNodeSelector', ['NodeAffinity']],
  ['PodFitsResources', ['NodeResourcesFit']],
  ['NoDiskConflict', ['VolumeRestrictions']],
  ['PodToleratesNodeTaints', ['TaintToleration']],
  ['MaxEBSVolumeCount', ['NodeVolumeLimits']],
  ['MaxGCEPDVolumeCount', ['NodeVolumeLimits']],
  ['MaxAzureDiskVolumeCount', ['NodeVolumeLimits']],
  ['MaxCinderVolumeCount', ['NodeVolumeLimits']],
  ['MaxCSIVolumeCountPred', ['NodeVolumeLimits']],
  ['CheckVolumeBinding', ['VolumeBinding']],
  ['NoVolumeZoneConflict', ['VolumeZone']],
  ['EvenPodsSpread', ['PodTopologySpread']],
  ['MatchInterPodAffinity', ['InterPodAffinity']],
])

/** Enabled even if the file does not list them. */
const mandatory = ['CheckNodeUnschedulable', 'PodToleratesNodeTaints']

/** Priorities and the score plugins that replace them; undefined for those without effect. */
const scorersByPriority: ReadonlyMap<string, string | undefined> = new Map([
  ['SelectorSpreadPriority', 'PodTopologySpread'],
  ['ServiceSpreadingPriority', 'PodTopologySpread'],
  ['EvenPodsSpreadPriority', 'PodTopologySpread'],
  ['InterPodAffinityPriority', 'InterPodAffinity'],
  ['LeastRequestedPriority', 'NodeResourcesFit'],
  ['MostRequestedPriority', 'NodeResourcesFit'],
  ['RequestedToCapacityRatioPriority', 'NodeResourcesFit'],
  ['BalancedResourceAllocation', 'NodeResourcesBalancedAllocation'],
  ['NodeAffinityPriority', 'NodeAffinity'],
  ['TaintTolerationPriority', 'TaintToleration'],
  ['ImageLocalityPriority', 'ImageLocality'],
  ['NodePreferAvoidPodsPriority', undefined],
  ['EqualPriority', undefined],
])

const strategies: ReadonlyMap<string, string> = new Map([
  ['LeastRequestedPriority', 'LeastAllocated'],
  ['MostRequestedPriority', 'MostAllocated'],
])

/** Throws ConfigurationError. */
export function readPolicy(text: string): ConfigurationFile {
  const policy = readFile(text, policyKind)
  const { predicates, priorities, extenders = [] } = policy
  const affinity: AddedAffinity = { required: [], preferred: [] }
  const filters = predicates && filtersOf(predicates, affinity)
  const { scorers, strategy } = scorersOf(priorities ?? [], affinity)
  const weight = policy.hardPodAffinitySymmetricWeight
  const pluginConfig: PluginConfigFields[] = [
    ...(weight === undefined ? [] : [{ name: 'InterPodAffinity', args: { hardPodAffinityWeight: weight } }]),
    ...(strategy === undefined ? [] : [{ name: 'NodeResourcesFit', args: { scoringStrategy: strategy } }]),
    ...addedAffinity(affinity),
  ]
  // Absent predicates or priorities leave the defaults in place.
  const plugins = {
    ...(filters && {
      filter: only(filters),
      reserve: only(binding(filters)),
      preBind: only(binding(filters)),
    }),
    ...(priorities && { score: { disabled: all, enabled: scorers } }),
  }
  return { profiles: [{ plugins, pluginConfig }], extenders: extenders.map(extenderOf) }
}

const all: readonly PluginFields[] = [{ name: '*' }]

function only(names: readonly string[]): PluginSetFields {
  return { disabled: all, enabled: names.map(name => ({ name })) }
}

/** The filter plugins that also have reserve and preBind. */
function binding(filters: readonly string[]): readonly string[] {
  return filters.filter(name => name === 'VolumeBinding')
}

interface AddedAffinity {
  readonly required: { readonly key: string; readonly operator: string }[]
  readonly preferred: { readonly key: string; readonly operator: string; readonly weight: number }[]
}

/**
 * The filter plugins of the predicates. Label presence becomes required node affinity in the NodeAffinity
 * args.
 */
function filtersOf(
  predicates: NonNullable<PolicyFile['predicates']>,
  affinity: AddedAffinity,
): readonly string[] {
  const names = [...mandatory]
  for (const [index, { name = '', argument = {} }] of predicates.entries()) {
    const { labelsPresence, serviceAffinity } = argument
    if (serviceAffinity !== undefined || name === 'CheckServiceAffinity')
      throw gone(`predicates[${index}]`, name, 'serviceAffinity')
    for (const key of labelsPresence?.labels ?? []) {
      affinity.required.push({ key, operator: labelsPresence?.presence ? 'Exists' : 'DoesNotExist' })
    }
    if (labelsPresence !== undefined) continue
    if (!filtersByPredicate.has(name)) throw gone(`predicates[${index}]`, name)
    names.push(name)
  }
  const filters = new Set(names.flatMap(name => filtersByPredicate.get(name) ?? []))
  if (affinity.required.length > 0) filters.add('NodeAffinity')
  return [...filters]
}

function scorersOf(
  priorities: readonly PriorityFields[],
  affinity: AddedAffinity,
): { readonly scorers: readonly PluginFields[]; readonly strategy: object | undefined } {
  const weights = new Map<string, number>()
  let strategy: object | undefined
  const add = (plugin: string, weight: number): void =>
    void weights.set(plugin, (weights.get(plugin) ?? 0) + weight)
  for (const [index, { name = '', weight = 1, argument = {} }] of priorities.entries()) {
    const field = `priorities[${index}]`
    const { labelPreference, requestedToCapacityRatioArguments: ratio, serviceAntiAffinity } = argument
    if (weight <= 0) throw new ConfigurationError(`${field}.weight: must be greater than 0`)
    if (serviceAntiAffinity !== undefined) throw gone(field, name, 'serviceAntiAffinity')
    if (labelPreference !== undefined) {
      const operator = labelPreference.presence ? 'Exists' : 'DoesNotExist'
      affinity.preferred.push({ key: labelPreference.label ?? '', operator, weight: Math.min(weight, 100) })
      add('NodeAffinity', weight)
      continue
    }
    if (ratio === undefined && !scorersByPriority.has(name)) throw gone(field, name)
    const plugin = ratio === undefined ? scorersByPriority.get(name) : 'NodeResourcesFit'
    if (plugin === undefined) continue
    if (name === 'RequestedToCapacityRatioPriority' && ratio === undefined)
      throw new ConfigurationError(`${field}.argument.requestedToCapacityRatioArguments: Required value`)
    if (plugin === 'NodeResourcesFit' && weights.has(plugin))
      throw new ConfigurationError(
        `${field}: only one resource allocation priority is supported, ${quote(name)} is the second`,
      )
    strategy = plugin === 'NodeResourcesFit' ? (strategyOf(name, ratio) ?? strategy) : strategy
    add(plugin, weight)
  }
  return { scorers: [...weights].map(([name, weight]) => ({ name, weight })), strategy }
}

function strategyOf(
  name: string,
  ratio: PriorityArgument['requestedToCapacityRatioArguments'],
): object | undefined {
  if (ratio === undefined) return { type: strategies.get(name) }
  const { shape: points = [], resources: given } = ratio
  return {
    type: 'RequestedToCapacityRatio',
    ...(given && { resources: given }),
    requestedToCapacityRatio: { shape: points },
  }
}

function addedAffinity({ required, preferred }: AddedAffinity): readonly PluginConfigFields[] {
  if (required.length === 0 && preferred.length === 0) return []
  const terms = [{ matchExpressions: required }]
  const preferences = preferred.map(({ weight, ...expression }) => ({
    weight,
    preference: { matchExpressions: [expression] },
  }))
  return [
    {
      name: 'NodeAffinity',
      args: {
        addedAffinity: {
          ...(required.length > 0 && {
            requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
          }),
          ...(preferred.length > 0 && { preferredDuringSchedulingIgnoredDuringExecution: preferences }),
        },
      },
    },
  ]
}

function extenderOf({ enableHttps, httpTimeout, ...rest }: OldExtenderFields): ExtenderFields {
  return {
    ...rest,
    ...(enableHttps !== undefined && { enableHTTPS: enableHttps }),
    ...(httpTimeout !== undefined && { httpTimeout: `${httpTimeout}ns` }),
  }
}

function gone(field: string, name: string, what = quote(name)): ConfigurationError {
  return new ConfigurationError(`${field}: ${what} is unknown or no longer supported`)
}
