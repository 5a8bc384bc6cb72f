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
  /** Archives of images, which the kubelet imports. */
  readonly images: string
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
    images: join(clusterFolder, 'images'),
    volumes: join(clusterFolder, 'volumes'),
    certificates: inNode('pki'),
  }
}

/**
 * Parent of all cgroups of a node of the cluster in this slot: its pods, and its own processes. Nodes are counted
 * from 1.
 */
export function nodeCgroup(slot: number, node = 1): string {
  return node === 1 ? `/k8ts-${slot}` : `/k8ts-${slot}-${node}`
}
