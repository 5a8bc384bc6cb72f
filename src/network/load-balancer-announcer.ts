/**
 * Announces the addresses of LoadBalancer services on the link of a node, so that other machines reach them: one
 * node owns each address (`plan-announcements.ts`), has it on its link, answers ARP and NDP for it, and tells its
 * neighbours when it takes it over. The service proxy of the owner forwards the packets.
 *
 * While there is another node that could take over an address, the kernel has it with a limited lifetime, which only
 * contact with the API server extends. A node that is cut off, or whose process is killed, has lost the address before
 * the node controller declares the node unreachable and another node becomes the owner. It does not allocate addresses:
 * that is the service controller's task.
 */
import type { Node, Service } from '#/api/generated/core/v1.ts'
import { nodes, services } from '#/api/generated/core/v1-resources.ts'
import { loadBalancerServices } from '#/api/core/load-balancers.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { untilAborted } from '#/base/abort.ts'
import { backoffMs } from '#/base/backoff.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import type { Index } from '#/client/indexer.ts'
import type { Informer } from '#/client/informer.ts'
import type { Informers } from '#/client/informers.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform, Processes } from '#/platform/platform.ts'
import { ThrottledLog } from '#/platform/throttled-log.ts'
import { writeIpBatch } from './ip-batch.ts'
import { IpMonitor } from './ip-monitor.ts'
import { ApiContact, type ContactTimes } from './load-balancer-announcer/api-contact.ts'
import {
  announcedMetric,
  isRelevantAddressChange,
  readLinkAddresses,
} from './load-balancer-announcer/link-addresses.ts'
import {
  gratuitousArp,
  planAddressChanges,
  type AddressChanges,
  type PlacedAddress,
  type WantedAddress,
} from './load-balancer-announcer/plan-address-changes.ts'
import {
  announcedAddresses,
  announcementFacts,
  mayBecomeOwner,
  planAnnouncements,
  type Announcement,
} from './load-balancer-announcer/plan-announcements.ts'

export interface LoadBalancerAnnouncerOptions {
  readonly platform: Platform
  /** Runs commands in the node's network namespace. */
  readonly linux: Pick<Linux, 'run'>
  /** Starts programs in the node's network namespace; those of the platform when absent. */
  readonly processes?: Processes
  /** Has the rights of `system:node-proxier`. */
  readonly client: Client
  /** Run by the caller. */
  readonly informers: Informers
  readonly nodeName: string
  /** Name of the cluster on this machine, which marks its addresses. */
  readonly clusterName: string
  readonly times?: Partial<ContactTimes>
}

/** Changes in quick succession are written together. */
const debounce = { initialMs: 20, maxMs: 5_000, factor: 2, jitter: 0.1 }

const retry = { initialMs: 200, maxMs: 30_000, factor: 2, jitter: 0.1 }

/** Interval of verification while the node has addresses: `ip monitor` may lose changes. */
const verifyIntervalMs = 60_000

/** Gratuitous ARP requests for a new address: frames may be lost, and switches may learn the new port late. */
const gratuitousArps = { count: 5, intervalMs: 1_000 }

/** Headless services have no load balancer. */
const proxiedSlices = { labelSelector: '!service.kubernetes.io/headless' } as const

interface AnnouncedAddress extends PlacedAddress {
  /** Gratuitous ARP requests still to be sent. */
  readonly remaining: number
  readonly nextMs: number
}

export class LoadBalancerAnnouncer {
  readonly #options: LoadBalancerAnnouncerOptions
  readonly #log: ThrottledLog
  readonly #recorder: EventRecorder
  readonly #contact: ApiContact
  readonly #metric: number
  readonly #services: Informer<Service>
  readonly #nodes: Informer<Node>
  /** Followed from the first service with `externalTrafficPolicy: Local`. */
  #slices:
    | { readonly informer: Informer<EndpointSlice>; readonly byService: Index<EndpointSlice> }
    | undefined
  #announced: ReadonlyMap<string, AnnouncedAddress> = new Map()
  /** False when the links are known to have no announced addresses. */
  #mayHaveAddresses = true
  #monitor: { readonly stopping: AbortController; readonly done: Promise<void> } | undefined
  #wake = Promise.withResolvers<void>()
  #hasChanged = true
  /** The announcements of this node; undefined after a change of the objects that they depend on. */
  #own: readonly Announcement[] | undefined

  constructor(options: LoadBalancerAnnouncerOptions) {
    const { platform, client, informers, nodeName, clusterName } = options
    this.#options = options
    this.#log = new ThrottledLog(platform)
    this.#recorder = new EventRecorder({
      platform,
      client,
      component: 'load-balancer-announcer',
      host: nodeName,
    })
    this.#metric = announcedMetric(clusterName)
    this.#services = informers.of(services, loadBalancerServices)
    this.#nodes = informers.of(nodes)
    this.#contact = new ApiContact({ ...options, nodes: this.#nodes })
  }

  /** Until aborted. The addresses remain, for the next process or `remove-announced-addresses.ts`. */
  async run(signal: AbortSignal): Promise<void> {
    const removeHandlers = this.#follow()
    const recording = this.#recorder.run(signal)
    await Promise.all([this.#services.waitForSync(signal), this.#nodes.waitForSync(signal)]).catch(
      () => undefined,
    )
    let failures = 0
    /** Consecutive syncs that changed something although no object had changed. */
    let repairs = 0
    while (!signal.aborted) {
      this.#wake = Promise.withResolvers()
      const hasChanged = this.#hasChanged
      this.#hasChanged = false
      try {
        const hasRepaired = await this.#sync(signal)
        failures = 0
        repairs = hasRepaired && !hasChanged ? repairs + 1 : 0
      } catch (error) {
        if (signal.aborted) break
        failures++
        this.#hasChanged ||= hasChanged
        const key = error instanceof Error ? error.message : String(error)
        this.#log.error(key, 'Failed to announce load balancer addresses', {
          node: this.#options.nodeName,
          error,
        })
      }
      await this.#rest({ failures, repairs, signal })
    }
    removeHandlers()
    await Promise.all([recording, this.#stopMonitor()])
  }

  #follow(): () => void {
    const wake = (): void => this.#changed()
    const removers = [
      this.#services.addEventHandler(wake),
      this.#nodes.addEventHandler((_key, { oldObject, newObject }) => {
        const [before, after] = [oldObject, newObject].map(node => node && announcementFacts(node))
        if (before !== after) wake()
      }),
    ]
    return () => removers.forEach(remove => remove())
  }

  #changed(): void {
    this.#own = undefined
    this.#hasChanged = true
    this.#wake.resolve()
  }

  /** True if addresses that this process had placed were missing or wrong. */
  async #sync(signal: AbortSignal): Promise<boolean> {
    const { linux, nodeName } = this.#options
    const isLeased = this.#hasPeers() && (await this.#plan(signal)).length > 0
    if (isLeased) await this.#contact.check(signal)
    else this.#contact.pause()
    // Again: contact after a long time may have shown that another node is the owner now.
    const own = await this.#plan(signal)
    const wanted = this.#wanted(own)
    if (wanted.length === 0 && !this.#mayHaveAddresses) return false
    if (wanted.length > 0) this.#startMonitor()
    const nodeAddresses = addressesOf(this.#nodes.get(nodeName))
    const plan = async (): Promise<AddressChanges> => {
      const links = await readLinkAddresses(linux, signal)
      return planAddressChanges({ wanted, links, nodeAddresses, metric: this.#metric })
    }
    const changes = await plan()
    this.#mayHaveAddresses = true
    const error = await this.#write(changes, signal)
    const done = error === undefined ? changes : withoutRefused(changes, await plan())
    this.#mayHaveAddresses = wanted.length > 0 || error !== undefined
    if (wanted.length === 0) await this.#stopMonitor()
    const isRepair = done.added.some(address => this.#announced.has(address))
    this.#report(own, done)
    await this.#announce(done, signal)
    if (error !== undefined) throw error
    return isRepair
  }

  async #plan(signal: AbortSignal): Promise<readonly Announcement[]> {
    if (this.#own !== undefined) return this.#own
    const all = this.#services.list()
    const isLocal = all.some(service => {
      return service.spec?.externalTrafficPolicy === 'Local' && announcedAddresses(service).length > 0
    })
    if (isLocal) await this.#followSlices(signal)
    const announcements = planAnnouncements({
      services: all,
      nodes: this.#nodes.list(),
      slicesOf: key => this.#slices?.byService.get(key) ?? [],
    })
    this.#own = announcements.filter(({ owner }) => owner === this.#options.nodeName)
    return this.#own
  }

  async #followSlices(signal: AbortSignal): Promise<void> {
    if (this.#slices === undefined) {
      const informer = this.#options.informers.of(endpointSlices, proxiedSlices)
      const byService = informer.index('service', serviceKeysOf)
      this.#slices = { informer, byService }
      informer.addEventHandler((_key, { oldObject, newObject }) => {
        const keys = [oldObject, newObject].flatMap(slice => (slice ? serviceKeysOf(slice) : []))
        if (!keys.some(key => this.#services.get(key)?.spec?.externalTrafficPolicy === 'Local')) return
        this.#changed()
      })
    }
    await this.#slices.informer.waitForSync(signal)
  }

  /** On the only node an address is kept, also without contact: no other node will announce it. */
  #wanted(own: readonly Announcement[]): readonly WantedAddress[] {
    if (!this.#hasPeers()) return own.map(({ address }) => ({ address, validSeconds: undefined }))
    const remainingMs = this.#contact.remainingMs()
    const validSeconds = Math.max(1, Math.floor(remainingMs / 1_000))
    return remainingMs > 0 ? own.map(({ address }) => ({ address, validSeconds })) : []
  }

  /** True if another node could take addresses over, now or when it becomes Ready while this one is cut off. */
  #hasPeers(): boolean {
    const { nodeName } = this.#options
    return this.#nodes.list().some(node => node.metadata.name !== nodeName && mayBecomeOwner(node))
  }

  /** What the kernel refuses does not prevent the rest. */
  async #write({ commands, ipv6Links }: AddressChanges, signal: AbortSignal): Promise<Error | undefined> {
    const { linux } = this.#options
    const notified = await notifyNeighbours(linux, ipv6Links, signal)
    const subject = 'load balancer addresses'
    return (await writeIpBatch(linux, { program: 'ip', lines: commands, subject, signal })) ?? notified
  }

  #report(own: readonly Announcement[], { added, withdrawn, unplaced }: AddressChanges): void {
    const { platform, nodeName: node } = this.#options
    for (const address of added) {
      if (this.#announced.has(address) && !withdrawn.includes(address)) {
        const message = 'Announced address was removed by another program or is in use by another host'
        this.#log.warn(`removed ${address}`, message, { address })
        continue
      }
      platform.log.info('Announcing load balancer address', { address, node })
      const message = `announcing ${address} from node "${node}"`
      for (const service of own.find(each => each.address === address)?.services ?? [])
        this.#recorder.record(service, { type: 'Normal', reason: 'nodeAssigned', message })
    }
    for (const address of withdrawn) platform.log.info('Withdrew load balancer address', { address, node })
    for (const address of unplaced)
      platform.log.debug('No link with a carrier for load balancer address', { address, node })
  }

  /** Sends the gratuitous ARP requests that are due. The kernel announces IPv6 addresses itself. */
  async #announce({ placed, added }: AddressChanges, signal: AbortSignal): Promise<void> {
    const { linux, platform } = this.#options
    const nowMs = platform.clock.monotonicMs()
    const announced = new Map<string, AnnouncedAddress>()
    const lines: string[] = []
    for (const [address, place] of placed) {
      const known = this.#announced.get(address)
      const isKnown = known?.link === place.link && known.mac === place.mac && !added.includes(address)
      const count = address.includes(':') ? 0 : gratuitousArps.count
      const { remaining, nextMs } = isKnown ? known : { remaining: count, nextMs: nowMs }
      const isDue = remaining > 0 && nextMs <= nowMs
      if (isDue) lines.push(...gratuitousArp(address, place.link))
      announced.set(address, {
        ...place,
        remaining: isDue ? remaining - 1 : remaining,
        nextMs: isDue ? nowMs + gratuitousArps.intervalMs : nextMs,
      })
    }
    this.#announced = announced
    const subject = 'the neighbours of load balancer addresses'
    const error = await writeIpBatch(linux, { program: 'ip', lines, subject, signal })
    if (error) throw error
  }

  /** Waits for a change, or until something is due. A failure does not delay the extension of lifetimes. */
  async #rest({ failures, repairs, signal }: Rest): Promise<void> {
    const { clock, random } = this.#options.platform
    const fraction = random.fraction('load balancer announcer')
    const nowMs = clock.monotonicMs()
    const retryMs = failures > 0 ? nowMs + backoffMs(failures, retry, fraction) : Infinity
    const dueMs = Math.min(this.#dueMs(), retryMs)
    const waiting = new AbortController()
    const until = AbortSignal.any([signal, waiting.signal])
    const stopped = untilAborted(until)
    const slept = dueMs === Infinity ? stopped : clock.sleep(Math.max(0, dueMs - nowMs), until)
    await Promise.race([this.#wake.promise, stopped, slept.catch(() => undefined)])
    waiting.abort()
    // Another program that undoes each repair must not make this one run without pause.
    const delayMs = backoffMs(Math.max(failures, repairs) + 1, debounce, fraction)
    await clock.sleep(delayMs, signal).catch(() => undefined)
  }

  /** Infinity if only a change needs a sync. */
  #dueMs(): number {
    const due = [...this.#announced.values()].flatMap(({ remaining, nextMs }) =>
      remaining > 0 ? nextMs : [],
    )
    const checkMs = this.#contact.dueMs()
    if (checkMs !== undefined) due.push(checkMs)
    if (this.#mayHaveAddresses) due.push(this.#options.platform.clock.monotonicMs() + verifyIntervalMs)
    return due.reduce((first, each) => Math.min(first, each), Infinity)
  }

  #startMonitor(): void {
    if (this.#monitor !== undefined) return
    const { platform, processes = platform.processes } = this.#options
    const stopping = new AbortController()
    const monitor = new IpMonitor({
      platform,
      processes,
      objects: ['link', 'address'],
      isRelevant: line => isRelevantAddressChange(line, this.#metric),
      onChange: () => this.#wake.resolve(),
    })
    this.#monitor = { stopping, done: monitor.run(stopping.signal) }
  }

  async #stopMonitor(): Promise<void> {
    const monitor = this.#monitor
    this.#monitor = undefined
    monitor?.stopping.abort()
    await monitor?.done
  }
}

interface Rest {
  readonly failures: number
  readonly repairs: number
  readonly signal: AbortSignal
}

/**
 * The kernel sends an unsolicited neighbour advertisement when duplicate address detection has finished for a new
 * address.
 */
async function notifyNeighbours(
  linux: Pick<Linux, 'run'>,
  links: readonly string[],
  signal: AbortSignal,
): Promise<Error | undefined> {
  if (links.length === 0) return undefined
  const script = 'for each; do echo 1 > "/proc/sys/net/ipv6/conf/$each/ndisc_notify" || exit; done'
  try {
    await linux.run(['sh', '-c', script, 'sh', ...links], { signal })
    return undefined
  } catch (cause) {
    return new Error(`cannot announce IPv6 addresses on ${links.join(', ')}`, { cause })
  }
}

/** The changes without the addresses that are still to be added. */
function withoutRefused(changes: AddressChanges, { added: refused }: AddressChanges): AddressChanges {
  return {
    ...changes,
    placed: new Map([...changes.placed].filter(([address]) => !refused.includes(address))),
    added: changes.added.filter(address => !refused.includes(address)),
  }
}

function addressesOf(node: Node | undefined): readonly string[] {
  return (node?.status?.addresses ?? []).flatMap(({ type, address }) =>
    type === 'InternalIP' ? [address] : [],
  )
}

function serviceKeysOf({ metadata }: EndpointSlice): readonly string[] {
  const name = metadata.labels?.['kubernetes.io/service-name']
  return name ? [`${metadata.namespace ?? ''}/${name}`] : []
}
