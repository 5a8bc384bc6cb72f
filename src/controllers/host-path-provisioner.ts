/**
 * Volumes that are folders on the node where their first pod runs, so that claims work without any storage system. The
 * folder comes to be when the first pod is started. Nothing keeps a volume to its size.
 */
import { posix } from 'node:path'
import type { Node, PersistentVolume } from '#/api/generated/core/v1.ts'
import type { Provisioner } from './provisioner.ts'

export const hostPathProvisionerName = 'k8ts.io/host-path'

export interface HostPathSettings {
  /** Absolute, on every node; each volume is a folder in it. */
  readonly root?: string
  /** Removes a folder, with all that is in it, from a node; there may be none. */
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
        throw new Error('no node was selected: the class needs volumeBindingMode WaitForFirstConsumer')
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
      // What the object says now, somebody may have written who must not remove anything else.
      if (path !== posix.join(root, volume.metadata?.name ?? ''))
        throw new Error(
          `only folders in ${root} are removed, and ${JSON.stringify(path)} is not that of the volume`,
        )
      await removeFolder(path, nodeOf(volume))
    },
    expand: (_volume, size) => Promise.resolve(size),
  }
}

function onNode({ metadata }: Node): { key: string; operator: string; values: readonly string[] } {
  const value = metadata?.labels?.[hostnameLabel] ?? metadata?.name ?? ''
  return { key: hostnameLabel, operator: 'In', values: [value] }
}

/** As the node calls itself. */
function nodeOf({ spec }: PersistentVolume): string | undefined {
  const [term] = spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []
  return term?.matchExpressions?.find(({ key }) => key === hostnameLabel)?.values?.[0]
}
