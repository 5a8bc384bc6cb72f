/** Objects for tests, completed with the metadata that they have in a kubelet. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { KubeletPod } from '../kubelet-pod.ts'

export function kubeletPod(pod: Partial<Pod> = {}): KubeletPod {
  return { ...pod, metadata: { name: 'web', namespace: 'default', uid: 'u-1', ...pod.metadata } }
}

export function stored<T extends KubernetesObject>(object: T): Stored<T> {
  const { name = 'it', uid = 'u-1', resourceVersion = '1', creationTimestamp = started } = object.metadata
  return { ...object, metadata: { ...object.metadata, name, uid, resourceVersion, creationTimestamp } }
}

const started = '2026-01-01T00:00:00Z'
