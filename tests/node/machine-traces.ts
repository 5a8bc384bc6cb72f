/**
 * The resources of a cluster on this machine, as comparable names: before and after its pods, and when it is
 * removed. Other clusters may run at the same time, so only resources that certainly belong to it are
 * counted.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isDeepStrictEqual, promisify } from 'node:util'
import { nodeCgroup, nodeFolders, type NodeFolders } from '#/cluster/node-folders.ts'
import { planClusterNetwork, type ClusterNetwork } from '#/network/cluster-network.ts'
import { nodeProcesses } from '#/cluster/node-processes.ts'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'

/** Names by category, never only counts. */
export type Traces = Readonly<Record<string, readonly string[]>>

/** Timeout for the cleanup of deleted objects, generous for slow machines. */
const waitMsMax = 30_000
const lookMs = 100

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

export class MachineTraces {
  readonly #folder: string
  readonly #folders: NodeFolders
  readonly #network: ClusterNetwork
  /** Ids of sandboxes and containers seen so far. */
  readonly #ids = new Set<string>()
  readonly #sockets = new Set<string>()

  private constructor(folder: string, network: ClusterNetwork) {
    this.#folder = folder
    this.#folders = nodeFolders(folder)
    this.#network = network
  }

  static async of(folder: string): Promise<MachineTraces> {
    const { slot } = JSON.parse(await readFile(join(folder, 'network.json'), 'utf8')) as { slot: number }
    return new MachineTraces(folder, planClusterNetwork(slot))
  }

  /** Records ids and sockets of the running containers, so that leftovers can be attributed later. */
  async remember(): Promise<void> {
    const tasks = join(this.#folders.containerd, 'state/io.containerd.runtime.v2.task/k8s.io')
    for (const id of await namesIn(tasks)) {
      this.#ids.add(id)
      const socket = await shimSocket(join(tasks, id))
      if (socket !== undefined) this.#sockets.add(basename(socket))
    }
  }

  async now(): Promise<Traces> {
    const { bridge, tables, nodeAddress } = this.#network
    const { kubelet, addresses, containerd } = this.#folders
    const [links, addressesOfLinks, nftables] = await Promise.all([
      run('ip', '-o', 'link'),
      run('ip', '-o', 'address'),
      run('nft', 'list', 'ruleset'),
    ])
    const proxy = await run('nft', 'list', 'table', 'ip', tables.proxy).catch(() => [])
    return {
      mounts: await this.#mounts(),
      cgroups: await this.#cgroups(),
      processes: await this.#processes(),
      networks: await namesIn(join(containerd, 'state/io.containerd.grpc.v1.cri/netns')),
      bridges: links.filter(line => line.includes(` ${bridge}: `)).map(() => bridge),
      interfaces: addressesOfLinks.filter(line => this.#isOfPods(line)).map(() => 'veth'),
      addresses: (await namesIn(join(addresses, bridge))).filter(name => /^\d/.test(name)),
      tables: nftables.filter(line => line.startsWith('table ') && line.includes(` ${bridge}-`)),
      endpoints: proxy.filter(line => this.#isOfPods(line)),
      ports: await portsOf(bridge, nodeAddress),
      pods: await namesIn(join(kubelet, 'pods')),
      logs: await namesIn(join(kubelet, 'logs/pods')),
      runtime: await this.#known('/run/containerd/runc/k8s.io'),
      sockets: (await namesIn('/run/containerd/s')).filter(name => this.#sockets.has(name)),
      results: await this.#known('/var/lib/cni/results'),
      folder: await namesIn(this.#folder),
    }
  }

  /**
   * Waits until the traces are equal: pods may disappear from the API before the node has cleaned up. Fails
   * with the difference.
   */
  async become(expected: Traces): Promise<void> {
    const giveUp = Date.now() + waitMsMax
    while (!isDeepStrictEqual(await this.now(), expected) && Date.now() < giveUp) {
      await new Promise(resolve => setTimeout(resolve, lookMs))
    }
    assert.deepEqual(await this.now(), expected)
  }

  /** A pod address, but not the range of all pods. */
  #isOfPods(text: string): boolean {
    const [range = ''] = this.#network.podCidrs
    const prefix = range.split('.').slice(0, 2).join('.')
    return (text.match(/\d+(?:\.\d+){3}(?:\/\d+)?/g) ?? []).some(
      address => address.startsWith(`${prefix}.`) && address !== range,
    )
  }

  async #mounts(): Promise<readonly string[]> {
    const { mounts } = await nodeLinux()
    const all = (await mounts.list()).map(({ path }) => path)
    return all.filter(path => path.startsWith(`${this.#folder}/`)).toSorted()
  }

  async #cgroups(): Promise<readonly string[]> {
    const root = nodeCgroup(this.#network.slot)
    const found = await run('sh', '-c', `find /sys/fs/cgroup${root} /sys/fs/cgroup/*${root} -type d || true`)
    return found.toSorted()
  }

  /** The program names of all processes of the cluster. */
  async #processes(): Promise<readonly string[]> {
    const { containers, shims } = await nodeProcesses({
      platform,
      linux: await nodeLinux(),
      cgroupRoot: nodeCgroup(this.#network.slot),
      containerdSocket: this.#folders.containerdSocket,
    })
    const ours = await processesOf(this.#folder)
    const words = await Promise.all([...new Set([...containers, ...shims, ...ours])].map(commandOf))
    return words.map(([program = '']) => basename(program)).toSorted()
  }

  async #known(folder: string): Promise<readonly string[]> {
    const names = await namesIn(folder)
    return names.filter(name => [...this.#ids].some(id => name.includes(id)))
  }
}

/** PIDs of the processes that use files of this folder. */
async function processesOf(folder: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(
    pids.map(async pid => {
      const words = await commandOf(pid)
      return words.some(word => word === folder || word.startsWith(`${folder}/`)) ? pid : undefined
    }),
  )
  return found.filter(pid => pid !== undefined)
}

/** The path of the socket of the shim that holds the container of this bundle. */
export async function shimSocket(bundle: string): Promise<string | undefined> {
  // The first is the file of containerd before 2.0.
  for (const name of ['address', 'bootstrap.json']) {
    const text = await readFile(join(bundle, name), 'utf8').catch(() => '')
    const path = /unix:\/\/(\/[^"\s]+)/.exec(text)?.[1]
    if (path !== undefined) return path
  }
  return undefined
}

export async function commandOf(pid: number): Promise<readonly string[]> {
  const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return line.split('\0')
}

/** Rules that map a host port to a pod of the network. */
async function portsOf(bridge: string, nodeAddress: string): Promise<readonly string[]> {
  const rules = await run('iptables', '-w', '-t', 'nat', '-S')
  return rules.filter(rule => rule.includes(`\\"${bridge}\\"`) || rule.includes(` ${nodeAddress}/32 `))
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const names: string[] = await readdir(folder).catch(() => [])
  return names.toSorted()
}

async function run(program: string, ...parameters: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(program, parameters, { maxBuffer: 64 * 1_024 * 1_024 })
  return stdout.split('\n').filter(line => line !== '')
}
