/**
 * Hosts of a cluster on this machine: network namespaces on one bridge, which can be cut off from each other, or,
 * without root, addresses of the loopback interface. The bridge is in the namespace of this process or in one of its
 * own: in the latter case nothing of the machine's own network changes.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'

export interface Host {
  readonly address: string
  /** Before a command that is to run on the host. */
  readonly prefix: readonly string[]
}

export function loopbackHosts(count: number): Host[] {
  return Array.from({ length: count }, (_, index) => ({ address: `127.0.77.${index + 1}`, prefix: [] }))
}

/** A host, or the bridge: its network namespace is that of this process. */
export interface NamespaceKeeper extends AsyncDisposable {
  readonly pid: number
}

export interface HostNetworkOptions {
  readonly count: number
  /** Starts the process that has the network namespace of a host. */
  readonly startHost?: (number: number) => Promise<NamespaceKeeper>
  /** In the namespace of this process, which is not that of the machine, clients of this process reach the hosts. */
  readonly bridge: 'here' | 'in-own-namespace'
}

export class HostNetwork implements AsyncDisposable {
  readonly hosts: readonly Host[]
  readonly #bridge: readonly string[]
  readonly #keepers: AsyncDisposableStack

  private constructor(hosts: readonly Host[], bridge: readonly string[], keepers: AsyncDisposableStack) {
    this.hosts = hosts
    this.#bridge = bridge
    this.#keepers = keepers
  }

  static async create(options: HostNetworkOptions): Promise<HostNetwork> {
    const { count, startHost = () => startKeeper() } = options
    await using keepers = new AsyncDisposableStack()
    const bridge = options.bridge === 'here' ? [] : inNetworkOf(keepers.use(await startKeeper()))
    await run(bridge, 'ip link add hosts type bridge')
    await run(bridge, `ip address add ${addressOf(0)}/24 dev hosts`)
    await run(bridge, 'ip link set hosts up')
    const hosts: Host[] = []
    for (let number = 1; number <= count; number++) {
      const keeper = keepers.use(await startHost(number))
      hosts.push(await connect(bridge, keeper, number))
    }
    return new HostNetwork(hosts, bridge, keepers.move())
  }

  /** Packets between the two groups are dropped, in both directions. */
  async cut(left: readonly Host[], right: readonly Host[]): Promise<void> {
    await Promise.all([
      ...left.map(host => dropFrom(host, right)),
      ...right.map(host => dropFrom(host, left)),
    ])
  }

  async heal(): Promise<void> {
    await Promise.all(this.hosts.map(host => nft(host, 'flush chain inet cuts input').catch(() => undefined)))
  }

  /** Pulls the cable of a host. */
  async cutOff(host: Host): Promise<void> {
    await run(this.#bridge, `ip link set ${linkOf(this.hosts.indexOf(host) + 1)} down`)
  }

  async reconnect(host: Host): Promise<void> {
    await run(this.#bridge, `ip link set ${linkOf(this.hosts.indexOf(host) + 1)} up`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#keepers.disposeAsync()
  }
}

/** The first is that of the bridge. */
function addressOf(number: number): string {
  return `10.77.0.${number + 1}`
}

function linkOf(number: number): string {
  return `host${number}`
}

function inNetworkOf({ pid }: NamespaceKeeper): readonly string[] {
  return ['nsenter', `--net=/proc/${pid}/ns/net`]
}

/** A process that keeps a network namespace while the programs of the host are killed and started again. */
async function startKeeper(): Promise<NamespaceKeeper> {
  const command = ['--pdeathsig', 'KILL', 'unshare', '--net', 'sh', '-c', 'echo ready; exec sleep infinity']
  const keeper = spawn('setpriv', command, { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(keeper.stdout, 'data')
  return { pid: keeper.pid!, [Symbol.asyncDispose]: () => kill(keeper) }
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

async function connect(bridge: readonly string[], keeper: NamespaceKeeper, number: number): Promise<Host> {
  const link = linkOf(number)
  const host: Host = { address: addressOf(number), prefix: inNetworkOf(keeper) }
  await run(bridge, `ip link add ${link} type veth peer name eth0 netns ${keeper.pid}`)
  await run(bridge, `ip link set ${link} master hosts up`)
  await run(host.prefix, 'ip link set lo up')
  await run(host.prefix, `ip address add ${host.address}/24 dev eth0`)
  await run(host.prefix, 'ip link set eth0 up')
  await run(host.prefix, `ip route add default via ${addressOf(0)}`)
  await nft(host, 'table inet cuts { chain input { type filter hook input priority 0; }; }')
  return host
}

async function dropFrom(host: Host, others: readonly Host[]): Promise<void> {
  const sources = others.map(({ address }) => address).join(', ')
  await nft(host, `add rule inet cuts input ip saddr { ${sources} } drop`)
}

async function nft({ prefix: [program = '', ...rest] }: Host, rule: string): Promise<void> {
  await promisify(execFile)(program, [...rest, 'nft', rule])
}

async function run(prefix: readonly string[], command: string): Promise<void> {
  const [program = '', ...words] = [...prefix, ...command.split(' ')]
  await promisify(execFile)(program, words)
}
