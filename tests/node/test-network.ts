/**
 * A network of namespaces that a test creates and removes: a node, pods connected to it as in the pod
 * network, and external clients on a network in front of it. It is isolated from the machine's own network.
 */
import { execFile } from 'node:child_process'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { Linux } from '#/platform/linux.ts'
import { nodeLinux } from '#/platform/node.ts'
import { machineWideName } from '../temporary-folder.ts'
import { NetworkAgent } from './network-agent.ts'

const execute = promisify(execFile)

export interface TestNamespace {
  /** The name for `ip netns`. */
  readonly name: string
  readonly agent: NetworkAgent
  /** Runs commands in the namespace. */
  readonly linux: Linux
}

/** The network of external clients; the node has its first address. */
const outside = { ipv4: '198.51.100', ipv6: '2001:db8:51::' }

export class TestNetwork {
  readonly node: TestNamespace
  readonly #prefix: string
  readonly #namespaces: TestNamespace[]
  readonly #linux: Linux

  private constructor(prefix: string, linux: Linux, node: TestNamespace) {
    this.#prefix = prefix
    this.#linux = linux
    this.node = node
    this.#namespaces = [node]
  }

  static async create(t: Pick<TestContext, 'after'>): Promise<TestNetwork> {
    const prefix = machineWideName()
    const linux = await nodeLinux()
    const network = new TestNetwork(prefix, linux, await makeNamespace(`${prefix}-node`, linux))
    t.after(() => network.#remove())
    // Disables the kernel's rate limit of ICMP errors, which would delay tests.
    const unlimited = ['net/ipv4/icmp_ratelimit=0', 'net/ipv6/icmp/ratelimit=0']
    const forwarding = ['net/ipv4/ip_forward=1', 'net/ipv6/conf/all/forwarding=1']
    for (const each of [...forwarding, ...unlimited]) {
      const [name, value] = each.split('=')
      await network.node.linux.run(['sh', '-c', `echo ${value} > /proc/sys/${name}`])
    }
    return network
  }

  /** A pod of the node, with an address of each family. */
  async addPod(ipv4: string, ipv6?: string): Promise<TestNamespace> {
    const pod = await this.addNamespace('pod')
    const host = `veth${this.#namespaces.length}`
    const node = this.node.name
    await ip(`-n ${node} link add ${host} type veth peer name eth0 netns ${pod.name}`)
    await ip(`-n ${node} addr add 169.254.1.1/32 dev ${host}`, `-n ${node} link set ${host} up`)
    await ip(`-n ${node} route add ${ipv4}/32 dev ${host}`)
    await ip(`-n ${pod.name} addr add ${ipv4}/32 dev eth0`, `-n ${pod.name} link set eth0 up`)
    await ip(`-n ${pod.name} route add 169.254.1.1 dev eth0`)
    await ip(`-n ${pod.name} route add default via 169.254.1.1`)
    if (ipv6 === undefined) return pod
    await ip(
      `-n ${node} addr add fe80::1/64 dev ${host} nodad`,
      `-n ${node} -6 route add ${ipv6}/128 dev ${host}`,
    )
    await ip(`-n ${pod.name} addr add ${ipv6}/128 dev eth0 nodad`)
    await ip(`-n ${pod.name} -6 route add default via fe80::1 dev eth0`)
    return pod
  }

  /** An external client with a default route through the node: `198.51.100.2`, then `.3`. */
  async addStranger(): Promise<TestNamespace> {
    const stranger = await this.addNamespace('stranger')
    const number = this.#namespaces.length
    const [node, host] = [this.node.name, `out${number}`]
    await ip(`-n ${node} link add ${host} type veth peer name eth0 netns ${stranger.name}`)
    await ip(`-n ${node} link set ${host} up`, `-n ${stranger.name} link set eth0 up`)
    if (!(await this.node.linux.run(['ip', 'link', 'show'])).includes(' outside:')) {
      await ip(`-n ${node} link add outside type bridge`, `-n ${node} link set outside up`)
      await ip(`-n ${node} addr add ${outside.ipv4}.1/24 dev outside`)
      await ip(`-n ${node} addr add ${outside.ipv6}1/64 dev outside nodad`)
      await ip(`-n ${node} route add default via ${outside.ipv4}.254`)
      await ip(`-n ${node} -6 route add default via ${outside.ipv6}254`)
    }
    await ip(`-n ${node} link set ${host} master outside`)
    const last = this.#namespaces.filter(({ name }) => name.includes('stranger')).length + 1
    await ip(`-n ${stranger.name} addr add ${outside.ipv4}.${last}/24 dev eth0`)
    await ip(`-n ${stranger.name} addr add ${outside.ipv6}${last}/64 dev eth0 nodad`)
    await ip(`-n ${stranger.name} route add default via ${outside.ipv4}.1`)
    await ip(`-n ${stranger.name} -6 route add default via ${outside.ipv6}1`)
    return stranger
  }

  /** A namespace without connections. */
  async addNamespace(what: string): Promise<TestNamespace> {
    const name = `${this.#prefix}-${what}${this.#namespaces.length}`
    const namespace = await makeNamespace(name, this.#linux)
    this.#namespaces.push(namespace)
    return namespace
  }

  async #remove(): Promise<void> {
    for (const { name, agent } of this.#namespaces.toReversed()) {
      await agent.stop()
      await ip(`netns delete ${name}`)
    }
  }
}

async function makeNamespace(name: string, linux: Linux): Promise<TestNamespace> {
  await ip(`netns add ${name}`, `-n ${name} link set lo up`)
  return {
    name,
    agent: new NetworkAgent(name),
    linux: {
      ...linux,
      run: (command, options) => linux.run(['ip', 'netns', 'exec', name, ...command], options),
    },
  }
}

async function ip(...commands: readonly string[]): Promise<void> {
  for (const command of commands) await execute('ip', command.split(' '))
}
