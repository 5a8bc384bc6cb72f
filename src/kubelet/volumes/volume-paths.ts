/** Where the volumes of a pod are, below the folder of the pod. */
import { join } from 'node:path'
import type { Pod } from '#/api/generated/core/v1.ts'
import { podFolder } from '../pod-paths.ts'
import type { VolumeContext } from './volume-kind.ts'

type Node = VolumeContext['node']

/** `kind` is the name by which Kubernetes knows the kind: `empty-dir`. */
export function volumeFolder(node: Node, pod: Pod, kind: string, name: string): string {
  return join(podFolder(node, uidOf(pod)), 'volumes', `kubernetes.io~${kind}`, name)
}

/** Something that is there once a volume was made to its end. */
export function readyPath(node: Node, pod: Pod, kind: string, name: string): string {
  return join(podFolder(node, uidOf(pod)), 'plugins', `kubernetes.io~${kind}`, name, 'ready')
}

export function subPathsFolder(node: Node, uid: string): string {
  return join(podFolder(node, uid), 'volume-subpaths')
}

/** Where filesystems on devices of the node are mounted, once for all pods that use them. */
export function deviceMountsFolder(node: Node): string {
  return join(node.folder, 'plugins', 'kubernetes.io~local-volume', 'mounts')
}

export function uidOf({ metadata }: Pod): string {
  return metadata?.uid ?? ''
}
