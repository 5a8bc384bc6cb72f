/**
 * The hosts of a target: network namespaces on one bridge, which can be cut off from each other, or, without root,
 * addresses of the loopback interface. The bridge is in the namespace of this tool, so that everything goes with it.
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

export class HostNetwork implements Disposable {
  readonly hosts: readonly Host[]
  readonly #keepers: DisposableStack

  private constructor(hosts: readonly Host[], keepers: DisposableStack) {
    this.hosts = hosts
    this.#keepers = keepers
  }

  /** In a network namespace of this process. */
  static async create(count: number): Promise<HostNetwork> {
    await run('ip link add hosts type bridge')
    await run(`ip address add ${addressOf(0)}/24 dev hosts`)
    await run('ip link set hosts up')
    using keepers = new DisposableStack()
    const hosts: Host[] = []
    for (let number = 1; number <= count; number++) {
      const keeper = keepers.adopt(await startKeeper(), process => process.kill('SIGKILL'))
      hosts.push(await connect(keeper.pid!, number))
    }
    return new HostNetwork(hosts, keepers.move())
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

  [Symbol.dispose](): void {
    this.#keepers.dispose()
  }
}

/** The first is that of the bridge. */
function addressOf(number: number): string {
  return `10.77.0.${number + 1}`
}

/** A process that keeps a network namespace while the programs of the host are killed and started again. */
async function startKeeper(): Promise<ChildProcess> {
  const command = ['--pdeathsig', 'KILL', 'unshare', '--net', 'sh', '-c', 'echo ready; exec sleep infinity']
  const keeper = spawn('setpriv', command, { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(keeper.stdout, 'data')
  return keeper
}

async function connect(pid: number, number: number): Promise<Host> {
  const link = `host${number}`
  const host: Host = { address: addressOf(number), prefix: ['nsenter', `--net=/proc/${pid}/ns/net`] }
  await run(`ip link add ${link} type veth peer name eth0 netns ${pid}`)
  await run(`ip link set ${link} master hosts up`)
  const inside = host.prefix.join(' ')
  await run(`${inside} ip link set lo up`)
  await run(`${inside} ip address add ${host.address}/24 dev eth0`)
  await run(`${inside} ip link set eth0 up`)
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

async function run(command: string): Promise<void> {
  const [program = '', ...words] = command.split(' ')
  await promisify(execFile)(program, words)
}
