/** Where a node that runs containers keeps what, below the folder of its cluster. */
import { join } from 'node:path'

export interface NodeFolders {
  /** The container runtime: images, containers, its socket. */
  readonly containerd: string
  readonly containerdSocket: string
  /** The configuration of the pod network, and which pod has which address. */
  readonly cni: string
  readonly addresses: string
  /** What belongs to pods: volumes, logs. */
  readonly kubelet: string
  /** Static pods: every manifest in here runs. */
  readonly manifests: string
  /** What volumes that were provisioned hold. */
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

/** The control group of everything that a cluster with this slot runs. */
export function nodeCgroup(slot: number): string {
  return `/k8ts-${slot}`
}
