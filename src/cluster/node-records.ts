/**
 * The further nodes of a cluster on this machine, as recorded in its folder. The record is what is wanted: `k8ts node
 * add` writes it and `k8ts node remove` marks it, and the process of the cluster starts and removes the node.
 */
import { join } from 'node:path'
import type { Files } from '#/platform/platform.ts'

export interface NodeRecord {
  readonly name: string
  /** 2 for the second node of the cluster. Determines its address and the names of its links. */
  readonly number: number
  /** True if the node is to be removed. */
  readonly isRemoved: boolean
}

/** The first half of the node CIDR; the second half contains the addresses of load balancers. */
const numberMax = 120

/** Contains `NAME.json` for each node, and its folder `NAME`. */
export function nodesFolder(clusterFolder: string): string {
  return join(clusterFolder, 'nodes')
}

/** State of a node. */
export function recordedNodeFolder(clusterFolder: string, name: string): string {
  return join(nodesFolder(clusterFolder), name)
}

/** Sorted by number. */
export async function readNodeRecords(files: Files, clusterFolder: string): Promise<readonly NodeRecord[]> {
  const folder = nodesFolder(clusterFolder)
  if ((await files.stat(folder)) === undefined) return []
  const names = (await files.list(folder)).filter(name => name.endsWith('.json'))
  const records = await Promise.all(names.map(name => readRecord(files, join(folder, name))))
  return records.filter(record => record !== undefined).sort((a, b) => a.number - b.number)
}

/** Undefined if the record was deleted meanwhile. */
async function readRecord(files: Files, path: string): Promise<NodeRecord | undefined> {
  try {
    return JSON.parse(Buffer.from(await files.read(path)).toString()) as NodeRecord
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`cannot read the node record ${path}`, { cause })
  }
}

/** Throws Error when a node of this name exists, or the cluster has the maximum number of nodes. */
export function planNodeRecord(existing: readonly NodeRecord[], name: string): NodeRecord {
  if (existing.some(each => each.name === name)) throw new Error(`node ${name} already exists`)
  const used = new Set(existing.map(({ number }) => number))
  for (let number = 2; number <= numberMax; number++)
    if (!used.has(number)) return { name, number, isRemoved: false }
  throw new Error(`a cluster has at most ${numberMax} nodes on one machine`)
}

export async function writeNodeRecord(
  files: Files,
  clusterFolder: string,
  record: NodeRecord,
): Promise<void> {
  await files.makeFolder(nodesFolder(clusterFolder), { mode: 0o700 })
  await files.write(recordPath(clusterFolder, record.name), `${JSON.stringify(record)}\n`)
}

export async function deleteNodeRecord(files: Files, clusterFolder: string, name: string): Promise<void> {
  await files.remove(recordPath(clusterFolder, name))
}

function recordPath(clusterFolder: string, name: string): string {
  return join(nodesFolder(clusterFolder), `${name}.json`)
}
