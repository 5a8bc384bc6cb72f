/** Pod predicates and indexes shared by controllers. */
import type { Pod, PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { controllerReference, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'

/** Neither finished nor being deleted. */
export function isPodActive(pod: Pod): boolean {
  return !isPodTerminal(pod) && !isBeingDeleted(pod)
}

export function isPodTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

/** Time of the transition to Ready; undefined if the pod is not ready. */
export function readySinceMs(pod: Pod): number | undefined {
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready')
  if (ready?.status !== 'True') return undefined
  return parseTime(ready.lastTransitionTime ?? '') ?? -Infinity
}

/** True if the pod has been ready for `minReadySeconds`. */
export function isPodAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const sinceMs = readySinceMs(pod)
  return sinceMs !== undefined && (minReadySeconds === 0 || sinceMs + minReadySeconds * 1_000 <= nowMs)
}

/**
 * Time until the next pod becomes available; undefined if none is waiting for `minReadySeconds`. No watch
 * event occurs at that time, so the caller must requeue.
 */
export function nextAvailableMs(
  pods: readonly Pod[],
  minReadySeconds: number,
  nowMs: number,
): number | undefined {
  if (minReadySeconds === 0) return undefined
  const waits = pods
    .map(pod => (readySinceMs(pod) ?? Infinity) + minReadySeconds * 1_000 - nowMs)
    .filter(waitMs => waitMs > 0 && waitMs < Infinity)
  return waits.length === 0 ? undefined : Math.min(...waits)
}

/**
 * A pod from the template with a controller reference to the owner; its name is generated from the owner's.
 */
export function podFromTemplate(template: PodTemplateSpec, owner: Stored): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {}
  return {
    metadata: {
      generateName: podNamePrefix(owner.metadata.name),
      ...(owner.metadata.namespace && { namespace: owner.metadata.namespace }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ownerReferences: [controllerReference(owner)],
    },
    ...(template.spec && { spec: template.spec }),
  }
}

/** The API server truncates long prefixes, so only the end of a long name is lost. */
function podNamePrefix(name: string): string {
  return `${name}-`
}

export function podsByNode(informer: Informer<Pod>): Index<Stored<Pod>> {
  return informer.index('node', pod => (pod.spec?.nodeName ? [pod.spec.nodeName] : []))
}
