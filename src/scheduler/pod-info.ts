/** A pod with everything precomputed that the scheduler reads repeatedly from its spec. */
import type { Pod, PodAffinityTerm, WeightedPodAffinityTerm } from '#/api/generated/core/v1.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import { compileLabelSelector, type Selector } from '#/api/selectors/selector.ts'
import { requestsOf, type ResourceAmounts } from './resource-amounts.ts'

export interface PodInfo {
  readonly pod: Stored<Pod>
  readonly key: string
  readonly uid: string
  readonly namespace: string
  readonly labels: Readonly<Record<string, string>>
  readonly priority: number
  readonly requests: ResourceAmounts
  /** Non-zero requests, used for scoring. */
  readonly nonZeroRequests: ResourceAmounts
  /** The host ports of the pod. */
  readonly hostPorts: readonly HostPort[]
  readonly requiredAffinity: readonly AffinityTerm[]
  readonly requiredAntiAffinity: readonly AffinityTerm[]
  readonly preferredAffinity: readonly WeightedTerm[]
  readonly preferredAntiAffinity: readonly WeightedTerm[]
}

export interface HostPort {
  /** `0.0.0.0` for all addresses. */
  readonly address: string
  readonly protocol: string
  readonly port: number
}

export interface WeightedTerm {
  readonly weight: number
  readonly term: AffinityTerm
}

const known = new WeakMap<Stored<Pod>, PodInfo>()

export function podInfoOf(pod: Stored<Pod>): PodInfo {
  const info = known.get(pod)
  if (info !== undefined) return info
  const made = makePodInfo(pod)
  known.set(pod, made)
  return made
}

const none: readonly never[] = []

function makePodInfo(pod: Stored<Pod>): PodInfo {
  const { metadata, spec = { containers: [] } } = pod
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {}
  return {
    pod,
    key: keyOf(pod),
    uid: metadata.uid,
    namespace: metadata.namespace ?? '',
    labels: metadata.labels ?? {},
    priority: spec.priority ?? 0,
    ...requestsOf(pod),
    hostPorts: hostPortsOf(pod),
    requiredAffinity: required(pod, podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    requiredAntiAffinity: required(pod, podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    preferredAffinity: preferred(pod, podAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
    preferredAntiAffinity: preferred(pod, podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
  }
}

function hostPortsOf({ spec }: Pod): readonly HostPort[] {
  const sidecars = (spec?.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')
  const ports = [...(spec?.containers ?? []), ...sidecars].flatMap(container => {
    return (container.ports ?? [])
      .filter(({ hostPort }) => hostPort !== undefined && hostPort > 0)
      .map(({ hostPort = 0, hostIP = '0.0.0.0', protocol = 'TCP' }) => {
        return { address: hostIP === '' ? '0.0.0.0' : hostIP, protocol, port: hostPort }
      })
  })
  return ports.length === 0 ? none : ports
}

function required(pod: Pod, terms: readonly PodAffinityTerm[] | undefined): readonly AffinityTerm[] {
  return terms === undefined || terms.length === 0 ? none : terms.map(term => compileAffinityTerm(pod, term))
}

function preferred(pod: Pod, terms: readonly WeightedPodAffinityTerm[] | undefined): readonly WeightedTerm[] {
  if (terms === undefined || terms.length === 0) return none
  return terms.map(({ weight, podAffinityTerm }) => ({
    weight,
    term: compileAffinityTerm(pod, podAffinityTerm),
  }))
}

/**
 * A pod affinity term: the selected pods and the topology key. The API server has merged matchLabelKeys into
 * the selector.
 */
export interface AffinityTerm {
  readonly topologyKey: string
  /** Namespace names; empty if only the namespace selector decides. */
  readonly namespaces: ReadonlySet<string>
  /** Undefined if it selects no namespace. */
  readonly namespaceSelector: Selector | undefined
  readonly selector: Selector
}

function compileAffinityTerm(pod: Pod, term: PodAffinityTerm): AffinityTerm {
  const { namespaces = [], namespaceSelector, labelSelector, topologyKey } = term
  const isOwn = namespaces.length === 0 && namespaceSelector === undefined
  return {
    topologyKey,
    namespaces: new Set(isOwn ? [pod.metadata.namespace ?? ''] : namespaces),
    namespaceSelector: namespaceSelector === undefined ? undefined : compileLabelSelector(namespaceSelector),
    selector: compileLabelSelector(labelSelector),
  }
}
