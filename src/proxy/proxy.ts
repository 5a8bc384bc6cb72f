/**
 * The service proxy of a node: watches services and endpoint slices and writes nftables rules. Changes in
 * quick succession are written together; when idle it only verifies periodically that the rules still exist.
 * The rules remain when it stops, since pods keep running.
 */
import type { Service } from '#/api/generated/core/v1.ts'
import { nodes, services } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { backoffMs } from '#/base/backoff.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { Informers } from '#/client/informers.ts'
import type { Index } from '#/client/indexer.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { NftablesRules, staleMs, type ProxyNetwork } from './nftables.ts'
import { planService, type PortPlan, type ServicePlan } from './plan.ts'
import { Conntrack } from './conntrack.ts'
import { ServiceHealthServer } from './service-health-server.ts'
import { affectsConntrack } from './conntrack-entries.ts'

export interface ServiceProxyOptions {
  readonly platform: Platform
  /** Runs commands in the node's network namespace. */
  readonly linux: Pick<Linux, 'run'>
  /** Authenticated as `system:kube-proxy`. */
  readonly client: Client
  readonly nodeName: string
  readonly network: ProxyNetwork
  /** Addresses of health check node ports; the node's addresses when absent. */
  readonly healthAddresses?: readonly string[]
  /** Called when the rules were removed from outside: other network configuration may be gone too. */
  readonly onRulesLost?: () => void
}

/** Debounce: changes within this time are written in one sync. */
const debounceMs = 10

/** Interval of verification when idle. */
const verifyIntervalMs = 60_000

const retry = { initialMs: 200, maxMs: 30_000, factor: 2, jitter: 0.1 }

/** Excludes headless services and those of other proxies, and their slices. */
const proxiedServices = '!service.kubernetes.io/service-proxy-name,!service.kubernetes.io/headless'

export class ServiceProxy {
  readonly #options: ServiceProxyOptions
  readonly #informers: Informers
  readonly #services: Informer<Service>
  readonly #slicesOf: Index<EndpointSlice>
  readonly #rules: NftablesRules
  readonly #conntrack: Conntrack
  readonly #plans = new Map<string, ServicePlan>()
  /** Services to be planned again. */
  readonly #dirty = new Set<string>()
  readonly #synced = Promise.withResolvers<void>()
  #zone = ''
  #isConntrackStale = true
  #wake = Promise.withResolvers<void>()

  constructor(options: ServiceProxyOptions) {
    const { platform, client, linux, network, nodeName } = options
    this.#options = options
    this.#informers = new Informers({ platform, client })
    this.#rules = new NftablesRules({ linux, network, log: platform.log })
    this.#conntrack = new Conntrack(linux, platform)
    this.#services = this.#informers.of(services, { labelSelector: proxiedServices })
    const slices = this.#informers.of(endpointSlices, { labelSelector: proxiedServices })
    this.#slicesOf = slices.index('service', serviceOf)
    this.#services.addEventHandler(key => this.#enqueue(key))
    slices.addEventHandler((_key, { oldObject, newObject }) => {
      for (const slice of [oldObject, newObject])
        if (slice) for (const key of serviceOf(slice)) this.#enqueue(key)
    })
    this.#informers
      .of(nodes, { fieldSelector: `metadata.name=${nodeName}` })
      .addEventHandler((_key, { newObject }) => {
        const zone = newObject?.metadata.labels?.['topology.kubernetes.io/zone'] ?? ''
        if (zone === this.#zone) return
        this.#zone = zone
        for (const key of this.#plans.keys()) this.#enqueue(key)
      })
  }

  /** Resolves after the first complete sync. */
  get synced(): Promise<void> {
    return this.#synced.promise
  }

  async run(signal: AbortSignal): Promise<void> {
    const { platform, network, healthAddresses = network.nodeAddresses } = this.#options
    const following = this.#informers.run(signal)
    await using health = new ServiceHealthServer(platform, healthAddresses)
    await this.#informers.waitForSync(signal).catch(() => undefined)
    let failures = 0
    let idleMs = 0
    while (!signal.aborted) {
      try {
        const isLost = idleMs >= verifyIntervalMs && !(await this.#rules.verify(signal))
        if (!(await this.#sync(signal)) || isLost) this.#options.onRulesLost?.()
        await health.sync(this.#health())
        failures = 0
        this.#synced.resolve()
      } catch (error) {
        if (signal.aborted) break
        failures++
        platform.log.error('Failed to sync nftables rules', { error })
      }
      idleMs = await this.#rest(failures, signal)
    }
    await following
  }

  #enqueue(key: string): void {
    this.#dirty.add(key)
    this.#wake.resolve()
  }

  /** Waits for a change, the next verification or the retry backoff. Returns the idle time. */
  async #rest(failures: number, signal: AbortSignal): Promise<number> {
    const { clock, random } = this.#options.platform
    const startedMs = clock.monotonicMs()
    if (failures > 0) {
      await clock
        .sleep(backoffMs(failures, retry, random.fraction('proxy retry')), signal)
        .catch(() => undefined)
      return 0
    }
    const waiting = new AbortController()
    const timeoutMs = this.#rules.hasStale ? staleMs : verifyIntervalMs
    const slept = clock.sleep(timeoutMs, AbortSignal.any([signal, waiting.signal])).catch(() => undefined)
    await Promise.race([this.#wake.promise, slept])
    waiting.abort()
    const idleMs = clock.monotonicMs() - startedMs
    if (this.#dirty.size > 0) await clock.sleep(debounceMs, signal).catch(() => undefined)
    return idleMs
  }

  /** False when the rules had been modified from outside. */
  async #sync(signal: AbortSignal): Promise<boolean> {
    const { platform, network } = this.#options
    this.#wake = Promise.withResolvers()
    const keys = [...this.#dirty]
    this.#dirty.clear()
    for (const key of keys) this.#replan(key)
    const wereWhole = await this.#rules.apply(platform.clock.monotonicMs(), signal)
    if (this.#isConntrackStale) {
      this.#isConntrackStale = false
      await this.#conntrack.deleteStaleEntries(network.families, [...this.#ports()], signal)
    }
    return wereWhole
  }

  #replan(key: string): void {
    const { nodeName, network } = this.#options
    const service = this.#services.get(key)
    const before = this.#plans.get(key)
    const after =
      service &&
      planService({
        service,
        slices: this.#slicesOf.get(key),
        node: { name: nodeName, zone: this.#zone },
        families: network.families,
      })
    if (after) this.#plans.set(key, after)
    else this.#plans.delete(key)
    this.#rules.set(key, after?.ports ?? [])
    const ports = new Map((after?.ports ?? []).map(port => [portKey(port), port]))
    for (const port of before?.ports ?? []) {
      if (affectsConntrack(port, ports.get(portKey(port)))) this.#isConntrackStale = true
      ports.delete(portKey(port))
    }
    for (const port of ports.values()) if (affectsConntrack(undefined, port)) this.#isConntrackStale = true
  }

  *#ports(): Generator<PortPlan> {
    for (const { ports } of this.#plans.values()) yield* ports
  }

  #health(): ReadonlyMap<string, { readonly port: number; readonly localEndpoints: number }> {
    const wanted = [...this.#plans].flatMap(([key, { health }]) => (health ? [[key, health] as const] : []))
    return new Map(wanted)
  }
}

function portKey({ id, family }: PortPlan): string {
  return `${family} ${id}`
}

/** The key of the service that a slice belongs to. */
function serviceOf({ metadata }: EndpointSlice): readonly string[] {
  const name = metadata.labels?.['kubernetes.io/service-name']
  return name ? [`${metadata.namespace ?? ''}/${name}`] : []
}
