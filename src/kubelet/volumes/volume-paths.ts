/** Paths of a pod's volumes in the pod's directory. */
import { join } from 'node:path'
import type { KubeletPod } from '../kubelet-pod.ts'
import { podFolder } from '../pod-paths.ts'
import type { VolumeContext } from './volume-plugin.ts'

type Node = VolumeContext['node']

export interface VolumePath {
  readonly node: Node
  readonly pod: KubeletPod
  /** Kubernetes' name of the type, such as `empty-dir`. */
  readonly kind: string
  readonly name: string
}

export function volumeFolder({ node, pod, kind, name }: VolumePath): string {
  return join(podFolder(node, pod.metadata.uid), 'volumes', `kubernetes.io~${kind}`, name)
}

/** Marker file that exists once a volume is set up completely. */
export function readyPath({ node, pod, kind, name }: VolumePath): string {
  return join(podFolder(node, pod.metadata.uid), 'plugins', `kubernetes.io~${kind}`, name, 'ready')
}

export function subPathsFolder(node: Node, uid: string): string {
  return join(podFolder(node, uid), 'volume-subpaths')
}

/** Mount points of device filesystems, shared by all pods that use them. */
export function deviceMountsFolder(node: Node): string {
  return join(node.rootDirectory, 'plugins', 'kubernetes.io~local-volume', 'mounts')
}
