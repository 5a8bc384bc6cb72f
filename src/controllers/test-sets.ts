/** Test helper: compact notation for pods and revisions of StatefulSets and DaemonSets. */
import { controllerRevisions } from '#/api/generated/apps/v1-resources.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { isPodReady } from './pods.ts'
import type { TestControlPlane } from './test-control-plane.ts'
import { runningPod } from './test-pods.ts'

/** Pods in the given notation with a star if ready; sorted. */
export async function showPods(
  plane: TestControlPlane,
  write: (pod: Stored<Pod>) => string,
): Promise<string> {
  const all = await plane.list(pods)
  return all
    .map(pod => `${write(pod)}${isPodReady(pod) ? '*' : ''}`)
    .toSorted()
    .join(' ')
}

export async function setReady(
  plane: TestControlPlane,
  key: string,
  ready: 'True' | 'False' = 'True',
): Promise<void> {
  await plane.changeStatus(pods, key, pod => runningPod(pod, plane.platform.clock.now(), ready))
}

/** Numbers of all revisions, in ascending order. */
export async function revisionNumbers(plane: TestControlPlane): Promise<readonly number[]> {
  const all = await plane.list(controllerRevisions)
  return all.map(({ revision }) => Number(revision)).toSorted((left, right) => left - right)
}
