import type { Container, ContainerPort, ServicePort } from '#/api/generated/core/v1.ts'
import type { LabelSelector, LabelSelectorRequirement } from '#/api/selectors/selector.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import type { RestMapping } from '../discovery/rest-mapper.ts'

type Labels = Readonly<Record<string, string>>

/** The fields of the exposed kinds that matter. */
interface ExposedObject {
  readonly metadata?: { readonly labels?: Labels }
  readonly spec?: {
    readonly selector?: unknown
    readonly containers?: readonly Container[]
    readonly ports?: readonly ServicePort[]
    readonly template?: { readonly spec?: { readonly containers?: readonly Container[] } }
  }
}

const exposedKinds: ReadonlySet<string> = new Set([
  'ReplicationController',
  'Service',
  'Pod',
  'Deployment.apps',
  'ReplicaSet.apps',
  'Deployment.extensions',
  'ReplicaSet.extensions',
])

/** Throws Error for a kind that cannot be exposed. */
export function requireExposed({ kind, group }: RestMapping): void {
  const name = group === '' ? kind : `${kind}.${group}`
  if (!exposedKinds.has(name)) throw new Error(`cannot expose a ${name}`)
}

/** The labels that the service selects. Throws Error if the object's selector is no map of labels. */
export function selectorLabels(kind: string, object: JsonObject): Labels {
  const { metadata, spec } = object as ExposedObject
  switch (kind) {
    case 'ReplicationController':
      return (spec?.selector ?? {}) as Labels
    case 'Pod':
      if (Object.keys(metadata?.labels ?? {}).length > 0) return metadata!.labels!
      throw new Error('the pod has no labels and cannot be exposed')
    case 'Service':
      if (spec?.selector) return spec.selector as Labels
      throw new Error('the service has no pod selector set')
    default:
      return matchLabelsOf(kind, spec?.selector ?? {})
  }
}

function matchLabelsOf(kind: string, { matchLabels = {}, matchExpressions = [] }: LabelSelector): Labels {
  if (Object.keys(matchLabels).length === 0) {
    throw new Error(`invalid ${kind.toLowerCase()}: no selectors, therefore cannot be exposed`)
  }
  if (matchExpressions.length === 0) return matchLabels
  const expressions = matchExpressions.map(formatExpression).join(' ')
  throw new Error(`couldn't convert expressions - "[${expressions}]" to map-based selector format`)
}

function formatExpression({ key, operator, values = [] }: LabelSelectorRequirement): string {
  return `{Key:${key} Operator:${operator} Values:[${values.join(' ')}]}`
}

export function labelsOf(object: JsonObject): Labels {
  return (object as ExposedObject).metadata?.labels ?? {}
}

/** The protocols of the ports of a service or of containers, by port, in the order of the ports. */
export function portProtocols(kind: string, object: JsonObject): ReadonlyMap<string, readonly string[]> {
  const { spec } = object as ExposedObject
  const containers = spec?.template?.spec?.containers ?? spec?.containers ?? []
  const ports: readonly Partial<ContainerPort & ServicePort>[] =
    kind === 'Service' ? (spec?.ports ?? []) : containers.flatMap(({ ports: each = [] }) => each)
  const protocols = new Map<string, string[]>()
  for (const { containerPort, port = containerPort, protocol } of ports) {
    protocols.getOrInsertComputed(String(port), () => []).push(protocol || 'TCP')
  }
  return protocols
}
