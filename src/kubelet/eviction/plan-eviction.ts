/**
 * Chooses the pod to evict for a starved resource, and its message. Pods that use more than they requested come first,
 * then those of lower priority, then those that exceed their requests most. Critical pods are never evicted.
 */
import { podRequests } from '#/api/core/pod-resources.ts'
import {
  compareQuantities,
  formatQuantity,
  quantityFromInteger,
  quantityValue,
  tryParseQuantity,
  zeroQuantity,
  type Quantity,
} from '#/api/text/quantity.ts'
import { isCriticalPod } from '../critical-pod.ts'
import type { KubeletPod } from '../kubelet-pod.ts'
import type { SignalObservations } from './plan-pressure.ts'
import { sumOf, type ContainerUsage, type DiskAmount, type PodUsage } from './pod-usage.ts'
import {
  signalKinds,
  thresholdAmount,
  type EvictionSignal,
  type StarvedResource,
  type Threshold,
} from './thresholds.ts'

export interface EvictionCandidate {
  readonly pod: KubeletPod
  readonly isStatic: boolean
  /** A pod that could not be measured is evicted first. */
  readonly usage: PodUsage | undefined
}

export interface EvictionInput<T extends EvictionCandidate> {
  /** Most important first, at least one. */
  readonly starved: readonly [Threshold, ...Threshold[]]
  readonly observations: SignalObservations
  readonly hasDedicatedImageFs: boolean
  readonly candidates: readonly T[]
  /** Setting `evictionMaxPodGracePeriod`. */
  readonly maxPodGraceSeconds: number
}

export interface EvictionPlan<T> {
  readonly candidate: T
  readonly message: string
  readonly annotations: Readonly<Record<string, string>>
  readonly graceSeconds: number
}

/** Grace period of hard thresholds and of exceeded limits: the effect must come soon. */
export const immediateGraceSeconds = 1

/** Undefined if no pod can be evicted. */
export function planEviction<T extends EvictionCandidate>(
  input: EvictionInput<T>,
): EvictionPlan<T> | undefined {
  const { starved, maxPodGraceSeconds } = input
  const [{ signal, graceMs }] = starved
  const { resource } = signalKinds[signal]
  const [candidate] = rankPods(input)
  if (candidate === undefined) return undefined
  const { pod, usage } = candidate
  const own = pod.spec?.terminationGracePeriodSeconds
  const softGraceSeconds = Math.min(maxPodGraceSeconds, own === undefined ? Infinity : Number(own))
  const exceeding = usage === undefined ? [] : exceedingContainers(pod, usage, resource)
  return {
    candidate,
    message: [
      `The node was low on resource: ${resource}. `,
      thresholdText(input, resource),
      ...podText(pod, usage, resource),
      ...exceeding.map(({ name, used, requested }) =>
        consumption(`Container ${name}`, { used, requested, resource }),
      ),
    ].join(''),
    annotations: {
      offending_containers: exceeding.map(({ name }) => name).join(','),
      offending_containers_usage: exceeding.map(({ used }) => formatQuantity(used)).join(','),
      starved_resource: resource,
    },
    graceSeconds: graceMs > 0 ? softGraceSeconds : immediateGraceSeconds,
  }
}

/** In the order of eviction, without critical pods. */
function rankPods<T extends EvictionCandidate>(input: EvictionInput<T>): readonly T[] {
  const [{ signal }] = input.starved
  const { resource } = signalKinds[signal]
  return input.candidates
    .filter(({ pod, isStatic }) => !isCriticalPod(pod, isStatic))
    .map(candidate => {
      const { pod, usage } = candidate
      const used = usage === undefined ? 0 : usedAmount(usage, signal, input.hasDedicatedImageFs)
      const excess = used - requestedAmount(pod, resource)
      // PIDs cannot be requested, so that each pod would exceed its request.
      const group = usage === undefined ? 0 : excess > 0 && resource !== 'pids' ? 1 : 2
      return { candidate, group, priority: pod.spec?.priority ?? 0, excess }
    })
    .sort((a, b) => a.group - b.group || a.priority - b.priority || b.excess - a.excess)
    .map(({ candidate }) => candidate)
}

/** What the pod uses of the resource whose signal is low. */
function usedAmount(usage: PodUsage, signal: EvictionSignal, hasDedicatedImageFs: boolean): number {
  const { resource } = signalKinds[signal]
  if (resource === 'pids') return usage.processes
  if (resource === 'memory') return memoryOf(usage)
  const isImageFs = signal.startsWith('imagefs.')
  const layers = usage.containers.map(({ writableLayer }) => writableLayer)
  const others = [...usage.containers.map(({ logs }) => logs), ...usage.volumes]
  const disks = hasDedicatedImageFs ? (isImageFs ? layers : others) : [...layers, ...others]
  return sumOf(disks, (amount: DiskAmount) => (resource === 'inodes' ? amount.inodes : amount.bytes))
}

function memoryOf({ memoryBytes, containers }: PodUsage): number {
  return memoryBytes ?? sumOf(containers, container => container.memoryBytes)
}

/** Inodes and PIDs cannot be requested. */
function requestedAmount({ spec }: KubeletPod, resource: StarvedResource): number {
  if (spec === undefined || resource === 'inodes' || resource === 'pids') return 0
  return Number(quantityValue(podRequests(spec).get(resource) ?? zeroQuantity))
}

/** The first threshold of the resource. */
function thresholdText(
  { starved, observations }: EvictionInput<EvictionCandidate>,
  resource: StarvedResource,
): string {
  const found = starved.find(({ signal }) => signalKinds[signal].resource === resource)
  const observed = found && observations[found.signal]
  if (observed === undefined) return ''
  const { value } = found!
  const quantity = value.endsWith('%') ? undefined : tryParseQuantity(value)
  const amount = quantity ?? bytesQuantity(thresholdAmount(value, observed.capacity))
  const available = quantityFromInteger(observed.available, isBytes(resource) ? 'BinarySI' : 'DecimalSI')
  return `Threshold quantity: ${formatQuantity(amount)}, available: ${formatQuantity(available)}. `
}

/** Only for pods with a memory request of their own. */
function podText(pod: KubeletPod, usage: PodUsage | undefined, resource: StarvedResource): readonly string[] {
  const requested = pod.spec?.resources?.requests?.[resource]
  if (resource !== 'memory' || requested === undefined || usage === undefined) return []
  const used = bytesQuantity(memoryOf(usage))
  const request = tryParseQuantity(requested) ?? zeroQuantity
  return [consumption(`Pod ${pod.metadata.name}`, { used, requested: request, resource })]
}

interface Consumption {
  readonly used: Quantity
  readonly requested: Quantity
}

function consumption(
  subject: string,
  { used, requested, resource }: Consumption & { readonly resource: StarvedResource },
): string {
  const amounts = `using ${formatQuantity(used)}, request is ${formatQuantity(requested)}`
  return `${subject} was ${amounts}, has larger consumption of ${resource}. `
}

/** Containers that use more than they requested. */
function exceedingContainers(
  { spec }: KubeletPod,
  { containers }: PodUsage,
  resource: StarvedResource,
): readonly (Consumption & { readonly name: string })[] {
  if (!isBytes(resource)) return []
  const specs = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
  return containers.flatMap(usage => {
    const container = specs.find(({ name }) => name === usage.name)
    const used = bytesQuantity(bytesOf(usage, resource))
    const requested = tryParseQuantity(container?.resources?.requests?.[resource] ?? '0') ?? zeroQuantity
    if (container === undefined || compareQuantities(used, requested) <= 0) return []
    return [{ name: usage.name, used, requested }]
  })
}

function bytesOf({ memoryBytes, writableLayer, logs }: ContainerUsage, resource: StarvedResource): number {
  return resource === 'memory' ? memoryBytes : writableLayer.bytes + logs.bytes
}

function isBytes(resource: StarvedResource): boolean {
  return resource === 'memory' || resource === 'ephemeral-storage'
}

function bytesQuantity(bytes: number): Quantity {
  return quantityFromInteger(bytes, 'BinarySI')
}
