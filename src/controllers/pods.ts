/** What controllers ask about pods. */
import type { Pod, PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { controllerReference, isBeingDeleted, type KubernetesObject } from '#/api/metadata.ts'
import { parseTime } from '#/api/time.ts'
import type { Informer } from '#/client/informer.ts'
import type { ObjectIndex } from '#/client/object-store.ts'

/** Neither finished nor on its way out. */
export function isPodActive(pod: Pod): boolean {
  return !isPodFinished(pod) && !isBeingDeleted(pod)
}

export function isPodFinished(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
}

export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

/** Since when the pod has been ready, in milliseconds; undefined when it is not. */
export function readySinceMs(pod: Pod): number | undefined {
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready')
  if (ready?.status !== 'True') return undefined
  return parseTime(ready.lastTransitionTime ?? '') ?? -Infinity
}

/** Ready for so long that it counts. */
export function isPodAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const sinceMs = readySinceMs(pod)
  return sinceMs !== undefined && (minReadySeconds === 0 || sinceMs + minReadySeconds * 1_000 <= nowMs)
}

/**
 * How long until the next of these pods has been ready for long enough; undefined when none is on its way. Nothing
 * happens at that moment but that it is reached, so whoever counts available pods must look again by himself.
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

/** A pod as the template has it, managed by the owner, with a name that begins like the owner's. */
export function podFromTemplate(template: PodTemplateSpec, owner: KubernetesObject): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {}
  const reference = controllerReference(owner)
  return {
    metadata: {
      generateName: podNamePrefix(owner.metadata?.name ?? ''),
      ...(owner.metadata?.namespace && { namespace: owner.metadata.namespace }),
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ...(reference && { ownerReferences: [reference] }),
    },
    ...(template.spec && { spec: template.spec }),
  }
}

/** The server shortens what is too long for a name, so that only a long name's end can be lost. */
function podNamePrefix(name: string): string {
  return `${name}-`
}

/** The pods of an informer by the node that they are on. */
export function podsByNode(informer: Informer<Pod>): ObjectIndex<Pod> {
  return informer.index('node', pod => (pod.spec?.nodeName ? [pod.spec.nodeName] : []))
}
