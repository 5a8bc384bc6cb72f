/**
 * The oldest mode of kube-proxy: this process listens for each service port, iptables rules redirect the packets to
 * the service there, and the data is copied to and from an endpoint. Endpoints take turns, and one that does not accept
 * a connection is replaced by the next. Source addresses of clients are not preserved, traffic policies for external
 * clients have no effect, and connections end with this process, whose rules are therefore removed when it stops.
 */
import type { Fragment } from '#/nftables/ruleset.ts'
import type { Platform } from '#/platform/platform.ts'
import { tableFamily } from '#/nftables/table-family.ts'
import type { ChainNames } from './iptables/chain-names.ts'
import { RuleObjects } from './iptables/rule-objects.ts'
import { IptablesRules, removeIptablesRules } from './iptables.ts'
import type { PortPlan, ServiceEndpoint } from './plan.ts'
import type { Proxier, ProxierOptions } from './proxier.ts'
import { EndpointBalancer, endpointKey } from './userspace/endpoint-balancer.ts'
import { ConnectionLimit, type Portal } from './userspace/portal.ts'
import { TcpPortal } from './userspace/tcp-portal.ts'
import { UdpPortal } from './userspace/udp-portal.ts'

export interface UserspaceOptions extends ProxierOptions {
  /** Of the network namespace of the node. */
  readonly platform: Pick<Platform, 'clock' | 'network'>
}

/** TCP connections through the proxy; further ones are closed at once. */
const connectionsMax = 10_000

/** UDP clients, each of which has a socket; datagrams of further ones are lost. */
const udpClientsMax = 4_000

export class UserspaceProxier implements Proxier {
  readonly mode = 'userspace'
  readonly #options: UserspaceOptions
  readonly #rules: IptablesRules
  readonly #connections = new ConnectionLimit(connectionsMax)
  readonly #udpClients = new ConnectionLimit(udpClientsMax)
  /** By service and port. */
  readonly #open = new Map<string, Map<string, OpenPort>>()
  readonly #changed = new Map<string, readonly PortPlan[]>()

  constructor(options: UserspaceOptions) {
    this.#options = options
    this.#rules = new IptablesRules({ ...options, furtherRules: guardPort })
  }

  set(service: string, ports: readonly PortPlan[]): void {
    this.#changed.set(service, ports)
  }

  get isFullSyncNeeded(): boolean {
    return this.#rules.isFullSyncNeeded
  }

  get nextApplyMs(): number | undefined {
    return this.#rules.nextApplyMs
  }

  async apply(nowMs: number, signal: AbortSignal): Promise<boolean> {
    const unused: OpenPort[] = []
    const hasChanged = this.#changed.size > 0
    for (const [service, ports] of this.#changed) {
      const { open, closed } = await this.#openPorts(service, ports)
      unused.push(...closed)
      if (open.size === 0) this.#open.delete(service)
      const redirected = ports.map(plan => this.#redirect(plan, open.get(portKey(plan))))
      this.#rules.set(service, redirected)
      this.#changed.delete(service)
    }
    // Other endpoints change no rules, so that flushed ones would not be noticed.
    const areWhole = !hasChanged || this.#rules.isFullSyncNeeded || (await this.#rules.verify(signal))
    const wereWhole = await this.#rules.apply(nowMs, signal)
    await Promise.all(unused.map(({ portal }) => portal[Symbol.asyncDispose]()))
    return areWhole && wereWhole
  }

  verify(signal: AbortSignal): Promise<boolean> {
    return this.#rules.verify(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { linux, network, log } = this.#options
    await removeIptablesRules(linux, network.table).catch((error: unknown) =>
      log.error('Failed to remove the rules of services', { error }),
    )
    const ports = [...this.#open.values()].flatMap(open => [...open.values()])
    await Promise.all(ports.map(({ portal }) => portal[Symbol.asyncDispose]()))
  }

  /** Ports without endpoints keep their socket: their clients are refused by a rule. */
  async #openPorts(service: string, ports: readonly PortPlan[]): Promise<ChangedPorts> {
    // Recorded one by one, so that those already open are known when the next fails.
    const open = this.#open.get(service) ?? new Map<string, OpenPort>()
    this.#open.set(service, open)
    for (const plan of ports) {
      const port = open.get(portKey(plan)) ?? (await this.#listen(plan))
      if (port === undefined) continue
      open.set(portKey(plan), port)
      const { cluster, local } = plan.endpoints
      port.balancer.set(plan.internal === 'local' ? local : cluster, plan.affinitySeconds)
      port.portal.endpointsChanged()
    }
    const wanted = new Set(ports.map(portKey))
    const closed = [...open].filter(([key]) => !wanted.has(key))
    for (const [key] of closed) open.delete(key)
    return { open, closed: closed.map(([, port]) => port) }
  }

  /** Undefined for protocols that this mode does not have. */
  async #listen(plan: PortPlan): Promise<OpenPort | undefined> {
    const { platform, log } = this.#options
    const balancer = new EndpointBalancer()
    if (plan.protocol === 'sctp') {
      log.warn('The proxy mode userspace does not support SCTP', { service: plan.id })
      return undefined
    }
    const portal =
      plan.protocol === 'tcp'
        ? new TcpPortal(platform, balancer, this.#connections)
        : new UdpPortal(platform, balancer, this.#udpClients)
    const port = await portal.listen(this.#addressOf(plan))
    return { portal, balancer, port }
  }

  /** Replies must come from the address that packets are redirected to. */
  #addressOf({ family }: PortPlan): string {
    const own = this.#options.network.nodeAddresses.find(tableFamily(family).isOwn)
    if (own === undefined)
      throw new Error(`the proxy mode userspace requires an IPv${family} address of the node`)
    return own
  }

  /** The plan whose only endpoint is this process. */
  #redirect(plan: PortPlan, open: OpenPort | undefined): PortPlan {
    const { internal, external } = plan
    const endpoint = open && { address: this.#addressOf(plan), port: open.port, isLocal: true }
    const endpoints: readonly ServiceEndpoint[] = endpoint ? [endpoint] : []
    const usable = endpoint !== undefined
    return {
      ...plan,
      affinitySeconds: undefined,
      internal: usable && internal === 'local' ? 'cluster' : usable ? internal : 'reject',
      external: usable && external !== 'reject' ? 'cluster' : 'reject',
      endpoints: { cluster: endpoints, local: [], serving: endpoints },
    }
  }
}

interface OpenPort {
  readonly portal: Portal
  readonly balancer: EndpointBalancer
  readonly port: number
}

interface ChangedPorts {
  readonly open: ReadonlyMap<string, OpenPort>
  readonly closed: readonly OpenPort[]
}

function portKey({ id, family }: PortPlan): string {
  return `${family} ${id}`
}

/** Only redirected packets may reach the port: others would evade the restrictions of the service. */
function guardPort(plan: PortPlan, names: ChainNames): Fragment {
  const objects = new RuleObjects()
  const { protocol, endpoints } = plan
  for (const endpoint of endpoints.cluster) {
    const rule = `-p ${protocol} -m ${protocol} -d ${endpoint.address} --dport ${endpoint.port} ${guard}`
    objects.rule('filter', names.fixed('FIREWALL'), { key: `${protocol} ${endpointKey(endpoint)}`, rule })
  }
  return objects.fragment
}

// The state of a redirected connection is NEW, too; the original destination is what differs.
const guard = '-m conntrack ! --ctstate DNAT -j DROP'
