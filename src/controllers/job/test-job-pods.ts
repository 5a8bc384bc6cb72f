/** Test helpers that act as scheduler and kubelet for a job's pods. */
import type { Job } from '#/api/generated/batch/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { isPodActive } from '../pods.ts'
import type { TestControlPlane } from '../test-control-plane.ts'
import { completionIndexOf } from './tracked-pods.ts'

export function jobOf(spec: Partial<Job['spec']>, name = 'work'): Job {
  return {
    metadata: { namespace: 'default', name },
    spec: {
      ...spec,
      template: {
        spec: {
          restartPolicy: 'Never',
          containers: [{ name: 'main', image: 'main' }],
          ...spec?.template?.spec,
        },
      },
    },
  }
}

export interface PodExit {
  /** 0 means success. */
  readonly code: number
  readonly conditions?: readonly string[]
}

/** Finishes a pod and advances time, since the controller batches status updates. */
export async function finishPod(
  plane: TestControlPlane,
  pod: Stored<Pod>,
  { code, conditions = [] }: PodExit,
): Promise<void> {
  const finishedAt = formatTime(plane.platform.clock.now())
  await plane.changeStatus(pods, keyOf(pod), each => ({
    ...each,
    status: {
      ...each.status,
      phase: code === 0 ? 'Succeeded' : 'Failed',
      conditions: conditions.map(type => ({ type, status: 'True' })),
      containerStatuses: [
        {
          name: 'main',
          image: 'main',
          imageID: '',
          ready: false,
          restartCount: 0,
          state: { terminated: { exitCode: code, finishedAt } },
        },
      ],
    },
  }))
  await plane.advance(1_000)
}

export async function runPod(plane: TestControlPlane, pod: Stored<Pod>): Promise<void> {
  const lastTransitionTime = formatTime(plane.platform.clock.now())
  await plane.changeStatus(pods, keyOf(pod), each => ({
    ...each,
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }] },
  }))
  await plane.advance(1_000)
}

/** Pods that have not finished, sorted by index. */
export async function activePods(plane: TestControlPlane): Promise<readonly Stored<Pod>[]> {
  const active = (await plane.list(pods)).filter(isPodActive)
  return active.toSorted((left, right) => (completionIndexOf(left) ?? 0) - (completionIndexOf(right) ?? 0))
}
