/**
 * A further node of the cluster on this machine: its network namespace and the process that runs in it, `k8ts node
 * run`, which is restarted when it exits. When this process is killed the kernel kills that process too; the pods go
 * on, and the next start continues with them.
 */
import { join } from 'node:path'
import type { ClusterNetwork } from '#/network/cluster-network.ts'
import {
  ensureNodeNamespace,
  inNamespace,
  planNodeNamespace,
  removeNodeNamespace,
  type NodeNamespace,
} from '#/network/node-namespace.ts'
import { removeCniFiles } from '#/network/cni-files.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform, Process } from '#/platform/platform.ts'
import { nodeCgroup, nodeFolders } from './node-folders.ts'
import { deleteNodeRecord, readNodeRecords, recordedNodeFolder, type NodeRecord } from './node-records.ts'
import { removeContainers } from './remove-containers.ts'
import { SupervisedProcess, type EndSignal } from './supervised-process.ts'

export interface NamespacedNodeOptions {
  readonly platform: Platform
  readonly linux: Linux
  /** Folder of the cluster. */
  readonly folder: string
  readonly network: ClusterNetwork
  readonly record: NodeRecord
  /** The command that runs this program, and flags of all nodes. */
  readonly program: readonly string[]
  readonly flags: readonly string[]
  /** Writes the credentials of the node into its folder. */
  readonly issueCredentials: (node: NodeCredentialsRequest) => Promise<void>
}

export interface NodeCredentialsRequest {
  readonly name: string
  /** Folder of the node. */
  readonly folder: string
}

/** Longer than the node needs to stop its containers. */
const stopMs = 8_000

export class NamespacedNode {
  readonly record: NodeRecord
  readonly #options: NamespacedNodeOptions
  readonly #namespace: NodeNamespace
  readonly #folder: string
  readonly #logPath: string
  readonly #process: SupervisedProcess

  constructor(options: NamespacedNodeOptions) {
    const { platform, record, network, folder } = options
    this.#options = options
    this.record = record
    this.#namespace = planNodeNamespace(network, record.number)
    this.#folder = recordedNodeFolder(folder, record.name)
    this.#logPath = join(this.#folder, 'k8ts.log')
    this.#process = new SupervisedProcess({
      platform,
      fields: { node: record.name },
      logPath: this.#logPath,
      stopMs,
      start: signal => this.#startProcess(signal),
    })
  }

  start(): void {
    this.#process.start()
  }

  /** Stops the node, with its containers unless it hands over. */
  stop(signal: EndSignal): Promise<void> {
    return this.#process.stop(signal)
  }

  async #startProcess(signal: AbortSignal): Promise<Process> {
    const { platform, linux, network, program, flags, issueCredentials } = this.#options
    const { name, number } = this.record
    await platform.files.makeFolder(this.#folder, { mode: 0o700 })
    await ensureNodeNamespace(linux, this.#namespace, network)
    await issueCredentials({ name, folder: this.#folder })
    signal.throwIfAborted()
    const node = [
      `--data-dir=${this.#folder}`,
      `--node-name=${name}`,
      `--node-ip=${this.#namespace.address}`,
      `--network-name=${this.#namespace.name}`,
      `--cgroup-root=${nodeCgroup(network.slot, number)}`,
    ]
    // A host name of its own, which host network pods and containerd see.
    const script = 'echo "$1" >/proc/sys/kernel/hostname; log=$2; shift 2; exec "$@" >>"$log" 2>&1'
    const launcher = [
      ...inNamespace(this.#namespace.name),
      'unshare',
      '--uts',
      '--',
      'sh',
      '-c',
      script,
      'sh',
    ]
    return platform.processes.start(
      [...launcher, name, this.#logPath, ...program, 'node', 'run', ...node, ...flags],
      { environment: { K8TS_OUTPUT_FILE: this.#logPath } },
    )
  }
}

export interface RemoveNodesOptions {
  readonly platform: Platform
  readonly linux: Linux
  /** Folder of the cluster. */
  readonly folder: string
  readonly network: ClusterNetwork
}

/** Removes all that the further nodes of a stopped cluster have on the machine. */
export async function removeNamespacedNodes(options: RemoveNodesOptions): Promise<void> {
  for (const record of await readNodeRecords(options.platform.files, options.folder))
    await removeNamespacedNode(options, record)
}

/** Removes all that a stopped node has on the machine, and its record. Idempotent. */
export async function removeNamespacedNode(
  { platform, linux, folder: clusterFolder, network }: RemoveNodesOptions,
  { name, number }: NodeRecord,
): Promise<void> {
  const { files } = platform
  const folder = recordedNodeFolder(clusterFolder, name)
  await removeContainers({ platform, linux, folder, cgroupRoot: nodeCgroup(network.slot, number) })
  const namespace = planNodeNamespace(network, number)
  const folders = nodeFolders(folder)
  // Its rules are in the namespace and vanish with it.
  await removeCniFiles({
    files,
    name: namespace.name,
    folders: { configuration: folders.cni, addresses: folders.addresses },
  })
  await removeNodeNamespace(linux, namespace)
  await files.remove(folder)
  await deleteNodeRecord(files, clusterFolder, name)
}
