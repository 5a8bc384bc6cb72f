/** A node with the service proxy in a namespace, two pods, and external clients, for tests of services. */
import type { TestContext } from 'node:test'
import type { ServiceSpec } from '#/api/generated/core/v1.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import type { Endpoint } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import type { Linux } from '#/platform/linux.ts'
import type { ProxyMode, ProxyNetwork } from '#/proxy/proxier.ts'
import { ServiceProxy } from '#/proxy/proxy.ts'
import { startTestApiServer, type TestApiServer } from './test-api-server.ts'
import { RemoteProxier } from './remote-proxier.ts'
import { TestNetwork, type TestNamespace } from './test-network.ts'
import { waitUntil } from '../wait-until.ts'

export const network: ProxyNetwork = {
  table: 'k8ts0-proxy',
  families: [4, 6],
  podCidrs: ['10.244.0.0/16', 'fd00:244::/48'],
  serviceCidrs: ['10.96.0.0/16', 'fd00:96::/112'],
  nodeAddresses: ['198.51.100.1', '2001:db8:51::1'],
}

export const pods = { a: '10.244.0.11', b: '10.244.0.12' }

/** A node with two pods, two external clients, and services with separate addresses for each test. */
export class ServiceWorld {
  readonly api: TestApiServer
  readonly net: TestNetwork
  readonly a: TestNamespace
  readonly b: TestNamespace
  readonly stranger: TestNamespace
  readonly other: TestNamespace

  readonly mode: ProxyMode
  readonly #t: Pick<TestContext, 'after'>

  private constructor(
    t: Pick<TestContext, 'after'>,
    world: Pick<ServiceWorld, 'api' | 'net' | 'a' | 'b' | 'stranger' | 'other' | 'mode'>,
  ) {
    this.mode = world.mode
    this.#t = t
    ;({
      api: this.api,
      net: this.net,
      a: this.a,
      b: this.b,
      stranger: this.stranger,
      other: this.other,
    } = world)
  }

  static async start(t: Pick<TestContext, 'after'>, mode: ProxyMode): Promise<ServiceWorld> {
    const net = await TestNetwork.create(t)
    const [a, b] = [await net.addPod(pods.a, 'fd00:244::a'), await net.addPod(pods.b, 'fd00:244::b')]
    const [stranger, other] = [await net.addStranger(), await net.addStranger()]
    for (const [name, pod] of Object.entries({ a, b })) {
      for (const protocol of ['tcp', 'udp'] as const) {
        await pod.agent.serve(name, protocol, 8080)
        await pod.agent.serve(name, protocol, 8081, '::')
      }
    }
    await net.node.agent.serve('node', 'tcp', 6443)
    return new ServiceWorld(t, { api: await startTestApiServer(t), net, a, b, stranger, other, mode })
  }

  /** Returns a function that stops the proxy; its rules remain. */
  async startProxy({
    mode = this.mode,
    linux = this.net.node.linux,
    network: changes = {},
  }: StartProxy = {}): Promise<RunningProxy> {
    const { platform, clientAs } = this.api
    const own = { ...network, ...changes }
    const proxy = new ServiceProxy({
      platform,
      linux,
      client: clientAs('system:kube-proxy'),
      nodeName: 'n1',
      network: own,
      mode,
      healthAddresses: ['127.0.0.1'],
      // The sockets of this mode must be in the namespace of the node.
      ...(mode === 'userspace' && { proxier: new RemoteProxier(this.net.node.name, own) }),
    })
    const stopping = new AbortController()
    const running = proxy.run(stopping.signal)
    await proxy.synced
    const stop = async (): Promise<void> => {
      stopping.abort()
      await running
    }
    // A test that has failed before must end, too.
    this.#t.after(stop)
    return { proxy, stop }
  }

  async service(name: string, spec: ServiceSpec, endpoints: readonly Endpoint[], port = 8080): Promise<void> {
    const { client } = this.api
    const metadata = { namespace: 'default', name }
    const ports = [
      { name: 'tcp', port: 80, protocol: 'TCP' },
      { name: 'udp', port: 80, protocol: 'UDP' },
    ]
    await client.create(services, { metadata, spec: { ports, ...spec } })
    await this.endpoints(name, endpoints, port)
  }

  /** Sets the endpoints of a service. IPv6 endpoints use port 8081, the others 8080 unless given. */
  async endpoints(name: string, endpoints: readonly Endpoint[], ipv4Port = 8080): Promise<void> {
    for (const family of [4, 6]) {
      const own = endpoints.filter(
        ({ addresses: [address = ''] }) => address.includes(':') === (family === 6),
      )
      const port = family === 4 ? ipv4Port : 8081
      const at = { namespace: 'default', name: `${name}-${family}` }
      const known = await this.api.client.find(endpointSlices, at)
      const slice = {
        metadata: { ...at, ...known?.metadata, labels: { 'kubernetes.io/service-name': name } },
        addressType: `IPv${family}`,
        endpoints: own,
        ports: [
          { name: 'tcp', port, protocol: 'TCP' },
          { name: 'udp', port, protocol: 'UDP' },
        ],
      }
      if (known) await this.api.client.update(endpointSlices, slice)
      else await this.api.client.create(endpointSlices, slice)
    }
  }
}

interface StartProxy {
  /** That of the world when absent. */
  readonly mode?: ProxyMode
  readonly linux?: Pick<Linux, 'run'>
  readonly network?: Partial<ProxyNetwork>
}

interface RunningProxy {
  readonly proxy: ServiceProxy
  readonly stop: () => Promise<void>
}

/** On this node by default. */
export function at(address: string, nodeName = 'n1'): Endpoint {
  return { addresses: [address], nodeName, conditions: { ready: true, serving: true, terminating: false } }
}

export async function eventually(ask: () => Promise<string>, expected: RegExp): Promise<void> {
  await waitUntil(async () => expected.test(await ask()))
}

export async function answers(count: number, ask: () => Promise<string>): Promise<ReadonlySet<string>> {
  const all = new Set<string>()
  for (let each = 0; each < count; each++) all.add(await ask())
  return all
}
