/** Test helper: acts as scheduler and kubelet for workloads. */
import { isApiError } from '#/api/errors.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { isBeingDeleted, keyOf, type Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { isPodTerminal, isPodReady } from './pods.ts'
import type { TestControlPlane } from './test-control-plane.ts'

/** The pod in phase Running, with the Ready condition set. */
export function runningPod(pod: Pod, nowMs: number, ready: 'True' | 'False' = 'True'): Pod {
  const lastTransitionTime = formatTime(nowMs)
  const conditions = [{ type: 'Ready', status: ready, lastTransitionTime }]
  return { ...pod, status: { ...pod.status, phase: 'Running', conditions } }
}

/** Makes all active pods ready; returns their number. */
export async function runPods(
  plane: TestControlPlane,
  isMeant: (pod: Pod) => boolean = () => true,
): Promise<number> {
  const waiting = (await plane.list(pods)).filter(pod => {
    return !isPodReady(pod) && !isPodTerminal(pod) && !isBeingDeleted(pod) && isMeant(pod)
  })
  const nowMs = plane.platform.clock.now()
  for (const pod of waiting) {
    try {
      await plane.run(plane.client.updateStatus(pods, runningPod(pod, nowMs)))
    } catch (error) {
      // The controller may have deleted the pod meanwhile.
      if (!isApiError(error, 'NotFound') && !isApiError(error, 'Conflict')) throw error
    }
  }
  await plane.settle()
  return waiting.length
}

/** Makes pods ready repeatedly, until no new ones are created. */
export async function runAllPods(plane: TestControlPlane): Promise<void> {
  while ((await runPods(plane)) > 0);
}

/** Binds a pod to a node, so that its deletion is graceful. */
export async function bindPod(plane: TestControlPlane, pod: Stored<Pod>, nodeName: string): Promise<void> {
  const { namespace, name } = pod.metadata
  const binding = { metadata: { namespace, name }, target: { kind: 'Node', name: nodeName } }
  await plane.run(plane.client.createSubresource(pods, { namespace, name, subresource: 'binding' }, binding))
  await plane.settle()
}

/** Completes the deletion of terminating pods. */
export async function stopPods(
  plane: TestControlPlane,
  isMeant: (pod: Pod) => boolean = () => true,
): Promise<void> {
  const leaving = (await plane.list(pods)).filter(pod => isBeingDeleted(pod) && isMeant(pod))
  for (const pod of leaving) {
    const [namespace, name = ''] = keyOf(pod).split('/')
    await plane.run(plane.client.delete(pods, { namespace, name }, { gracePeriodSeconds: 0 }))
  }
  await plane.settle()
}
