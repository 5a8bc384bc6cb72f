/**
 * Provisions volumes as directories on the node of their first pod, so that claims work without a storage
 * system. The directory is created when the first pod starts. Capacity is not enforced.
 */
import { posix } from 'node:path'
import type { Node, PersistentVolume } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Provisioner } from './shared/provisioner.ts'

export const hostPathProvisionerName = 'k8ts.io/host-path'

export interface HostPathSettings {
  /** Absolute path on every node; each volume is a subdirectory. */
  readonly root?: string
  /** Deletes a directory with its contents on a node; succeeds if it does not exist. */
  readonly removeFolder: (path: string, node: string | undefined) => Promise<void>
}

const rootUsual = '/var/lib/k8ts/volumes'
const hostnameLabel = 'kubernetes.io/hostname'

export function hostPathProvisioner({ root = rootUsual, removeFolder }: HostPathSettings): Provisioner {
  return {
    name: hostPathProvisionerName,
    supportsMountOptions: false,
    async provision({ volumeName, claim, storageClass, selectedNode }) {
      if (claim.spec?.volumeMode === 'Block')
        throw new Error(`${hostPathProvisionerName} does not support block volume provisioning`)
      if (selectedNode === undefined)
        throw new Error(
          'no node selected: the storage class must have volumeBindingMode WaitForFirstConsumer',
        )
      const { accessModes = [], resources } = claim.spec ?? {}
      const { reclaimPolicy } = storageClass
      return {
        spec: {
          ...(reclaimPolicy && { persistentVolumeReclaimPolicy: reclaimPolicy }),
          accessModes: accessModes.length > 0 ? accessModes : ['ReadWriteOnce'],
          capacity: { storage: resources?.requests?.['storage'] ?? '0' },
          hostPath: { path: posix.join(root, volumeName), type: 'DirectoryOrCreate' },
          nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [onNode(selectedNode)] }] } },
        },
      }
    },
    async delete(volume) {
      const path = volume.spec?.hostPath?.path ?? ''
      // The path may have been edited by a user, which must not lead to the deletion of arbitrary
      // directories.
      if (path !== posix.join(root, volume.metadata.name))
        throw new Error(
          `refusing to delete ${JSON.stringify(path)}: it is not the directory of the volume in ${root}`,
        )
      await removeFolder(path, nodeOf(volume))
    },
    expand: (_volume, size) => Promise.resolve(size),
  }
}

function onNode({ metadata }: Stored<Node>): { key: string; operator: string; values: readonly string[] } {
  const value = metadata.labels?.[hostnameLabel] ?? metadata.name
  return { key: hostnameLabel, operator: 'In', values: [value] }
}

/** Value of the node's hostname label. */
function nodeOf({ spec }: PersistentVolume): string | undefined {
  const [term] = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []
  return term?.matchExpressions?.find(({ key }) => key === hostnameLabel)?.values?.[0]
}
