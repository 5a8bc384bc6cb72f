/**
 * The files of the CNI plugins of a node: their configuration, and what they remember of pods. The kubelet writes the
 * configuration, for the pod CIDRs of its node.
 */
import { join } from 'node:path'
import type { Files } from '#/platform/platform.ts'
import { cniConfiguration, planCniResultCleanup } from './node-network/cni.ts'

export interface CniFolders {
  /** CNI configuration folder of the container runtime. */
  readonly configuration: string
  /** Folder of the address allocations. */
  readonly addresses: string
}

export interface CniFilesOptions {
  readonly files: Files
  /** Name of the CNI network; unique on the machine. */
  readonly name: string
  readonly folders: CniFolders
}

export interface CniNetwork {
  /** `spec.podCIDRs` of the node. */
  readonly podCidrs: readonly string[]
  /** MTU of the pods; that of a veth pair when absent. */
  readonly mtu?: number | undefined
}

export async function ensureCniConfiguration(
  { files, name, folders }: CniFilesOptions,
  { podCidrs, mtu }: CniNetwork,
): Promise<void> {
  await files.makeFolder(folders.configuration)
  await files.makeFolder(folders.addresses)
  const path = join(folders.configuration, configurationName)
  const content = cniConfiguration({ name, podCidrs, addressFolder: folders.addresses, mtu })
  const before = (await files.stat(path)) && Buffer.from(await files.read(path)).toString()
  // The runtime reloads its configuration whenever the file changes.
  if (before !== content) await files.write(path, content)
}

/** CNI deletes the results of pods that are removed normally, but not of killed ones. */
export async function removeCniFiles({ files, name, folders }: CniFilesOptions): Promise<void> {
  await files.remove(join(folders.configuration, configurationName))
  await files.remove(folders.addresses)
  const results = await files.list(resultFolder).catch(() => [])
  for (const each of planCniResultCleanup(results, name)) await files.remove(join(resultFolder, each))
}

const configurationName = '10-k8ts.conflist'

/** The result cache of libcni, shared by all container runtimes of the machine. */
const resultFolder = '/var/lib/cni/results'
