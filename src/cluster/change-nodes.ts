/** Adds nodes to a running cluster on this machine, and removes them, by their records. */
import { nodes } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import { drainNode } from './drain-node.ts'
import { readLockHolder } from './lock-folder.ts'
import { nodesFolder, planNodeRecord, readNodeRecords, writeNodeRecord } from './node-records.ts'
import { waitForNodeReady } from './wait-for-nodes-ready.ts'

export interface ChangeNodesOptions {
  readonly platform: Platform
  /** Has administrator rights. */
  readonly client: Client
  /** Folder of the cluster. */
  readonly folder: string
  readonly onProgress: (text: string) => void
}

/** Until a node is Ready, on a loaded machine. */
const readyTimeoutMs = 120_000

/** A DNS label, since it is the host name of the node and the name of its folder. */
const nameForm = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

const removeTimeoutMs = 60_000
const pollMs = 100

/** Resolves when the node is Ready. Without a name it gets that of the first node with its number. */
export async function addNode(options: ChangeNodesOptions, name?: string): Promise<void> {
  const { platform, client, folder, onProgress } = options
  if (name !== undefined && !nameForm.test(name))
    throw new Error(`invalid node name ${JSON.stringify(name)}: must be lower case letters, digits and '-'`)
  await requireContainerNode(options)
  const records = await readNodeRecords(platform.files, folder)
  const record = planNodeRecord(records, name ?? '')
  const named =
    name === undefined ? { ...record, name: `${await firstNode(client)}-${record.number}` } : record
  if (await client.find(nodes, { name: named.name })) throw new Error(`node ${named.name} already exists`)
  await writeNodeRecord(platform.files, folder, named)
  onProgress(`node ${named.name} is starting`)
  const timeout = AbortSignal.timeout(readyTimeoutMs)
  try {
    await waitForNodeReady(client, named.name, timeout)
  } catch (error) {
    if (!timeout.aborted) throw error
    const log = `${nodesFolder(folder)}/${named.name}/k8ts.log`
    throw new Error(`node ${named.name} did not become Ready within 120 s: see ${log}`, { cause: error })
  }
  onProgress(`node ${named.name} is ready`)
}

export interface RemoveNode {
  readonly name: string
  /** Also deletes pods that no controller replaces. */
  readonly force: boolean
}

/** Evicts the pods of the node, then removes it with all that it has on the machine. */
export async function removeNode(options: ChangeNodesOptions, { name, force }: RemoveNode): Promise<void> {
  const { platform, client, folder, onProgress } = options
  const { clock, files } = platform
  await requireContainerNode(options)
  const record = (await readNodeRecords(files, folder)).find(each => each.name === name)
  if (record === undefined) throw new Error(`the cluster has no further node ${name} on this machine`)
  if (await client.find(nodes, { name })) await drainNode({ platform, client, name, force, onProgress })
  await writeNodeRecord(files, folder, { ...record, isRemoved: true })
  const endMs = clock.monotonicMs() + removeTimeoutMs
  while ((await readNodeRecords(files, folder)).some(each => each.name === name)) {
    if (clock.monotonicMs() > endMs)
      throw new Error(`node ${name} was not removed within 60 s: see k8ts status`)
    await clock.sleep(pollMs)
  }
  if (await client.find(nodes, { name })) await client.delete(nodes, { name })
  onProgress(`node ${name} removed`)
}

async function requireContainerNode({ platform, folder }: ChangeNodesOptions): Promise<void> {
  const holder = await readLockHolder(platform, folder)
  if (holder === undefined || !holder.isReady)
    throw new Error(`no cluster is running in ${folder}: start it with k8ts up`)
  if ((await platform.files.stat(nodesFolder(folder))) === undefined)
    throw new Error('the cluster has no node with containers: start it with k8ts up as root')
}

/** The node with the label of the control plane. */
async function firstNode(client: Client): Promise<string> {
  const labelSelector = 'node-role.kubernetes.io/control-plane'
  const [first] = (await client.list(nodes, { labelSelector })).items
  if (first === undefined) throw new Error('no node has the role control-plane: give the new node a name')
  return first.metadata.name
}
