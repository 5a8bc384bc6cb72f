/** Paths of a node that runs containers, within the cluster's folder. */
import { join } from 'node:path'

export interface NodeFolders {
  /** State of the container runtime: images, containers, its socket. */
  readonly containerd: string
  readonly containerdSocket: string
  /** CNI configuration; `addresses` holds the allocated pod addresses. */
  readonly cni: string
  readonly addresses: string
  /** The kubelet's root directory: volumes and logs of pods. */
  readonly kubelet: string
  /** Manifests of static pods. */
  readonly manifests: string
  /** Contents of dynamically provisioned volumes. */
  readonly volumes: string
  readonly certificates: string
}

export function nodeFolders(clusterFolder: string): NodeFolders {
  const inNode = (name: string): string => join(clusterFolder, 'node', name)
  const containerd = inNode('containerd')
  return {
    containerd,
    containerdSocket: join(containerd, 'containerd.sock'),
    cni: inNode('cni'),
    addresses: inNode('addresses'),
    kubelet: inNode('kubelet'),
    manifests: join(clusterFolder, 'manifests'),
    volumes: join(clusterFolder, 'volumes'),
    certificates: inNode('pki'),
  }
}

/** Parent of all cgroups of the cluster in this slot: its pods, and its own processes. */
export function nodeCgroup(slot: number): string {
  return `/k8ts-${slot}`
}
