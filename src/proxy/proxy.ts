/**
 * The service proxy of a node: watches services and endpoint slices and has their rules written in its mode
 * (`proxier.ts`). Changes in quick succession are written together; when idle it only verifies periodically that the
 * rules still exist. The rules remain when it stops, since pods keep running.
 */
import type { Service } from '#/api/generated/core/v1.ts'
import { nodes, services } from '#/api/generated/core/v1-resources.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { backoffMs } from '#/base/backoff.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { Informers } from '#/client/informers.ts'
import { PassLog } from '#/client/pass-log.ts'
import { addProcessMetrics } from '#/platform/process-metrics.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { Index } from '#/client/indexer.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { createProxier, removeOtherRules } from './proxy-modes.ts'
import type { Proxier, ProxyMode, ProxyNetwork } from './proxier.ts'
import { SyncPasses } from './sync-passes.ts'
import { SyncReporter, type SyncStatus } from './sync-reporter.ts'
import { planService, type PortPlan, type ServicePlan } from './plan.ts'
import { Conntrack } from './conntrack.ts'
import { ServiceHealthServer } from './service-health-server.ts'
import { affectsConntrack } from './conntrack-entries.ts'
import { ProxyHealth } from './proxy-health.ts'
import { familyLabel, ProxyMetrics } from './proxy-metrics.ts'
import { runProxyServer, type ProxyServers } from './proxy-server.ts'

export interface ServiceProxyOptions {
  readonly platform: Platform
  /** Runs commands in the node's network namespace. */
  readonly linux: Pick<Linux, 'run'>
  /** Authenticated as `system:kube-proxy`. */
  readonly client: Client
  readonly nodeName: string
  readonly network: ProxyNetwork
  /** nftables when absent. */
  readonly mode?: ProxyMode
  /** Replaces that of the mode. */
  readonly proxier?: Proxier
  /** Addresses of health check node ports; the node's addresses when absent. */
  readonly healthAddresses?: readonly string[]
  /** For health and metrics; none when absent. */
  readonly servers?: ProxyServers
  /** Usage of this process. */
  readonly usage?: () => ProcessUsage
  /** Called when the rules were removed from outside: other network configuration may be gone too. */
  readonly onRulesLost?: () => void
  /** Of this proxy and its client; new ones when absent. */
  readonly metrics?: ProxyMetrics
  /** Gets a pass of each change that is written. */
  readonly passes?: PassLog | undefined
}

/** Debounce: changes within this time are written in one sync. */
const debounceMs = 10

/** Interval of verification when idle. */
const verifyIntervalMs = 60_000

const retry = { initialMs: 200, maxMs: 30_000, factor: 2, jitter: 0.1 }

/** Excludes headless services and those of other proxies, and their slices. */
const proxiedServices = '!service.kubernetes.io/service-proxy-name,!service.kubernetes.io/headless'

const triggerTimeAnnotation = 'endpoints.kubernetes.io/last-change-trigger-time'

/** Pending trigger times of endpoint changes; further ones are not measured. */
const triggerTimesMax = 10_000

export class ServiceProxy {
  readonly metrics: ProxyMetrics
  readonly health: ProxyHealth
  readonly #options: ServiceProxyOptions
  readonly #informers: Informers
  readonly #services: Informer<Service>
  readonly #slicesOf: Index<EndpointSlice>
  readonly #proxier: Proxier
  readonly #reporter: SyncReporter
  readonly #conntrack: Conntrack
  readonly #passes: SyncPasses
  readonly #plans = new Map<string, ServicePlan>()
  /** Services to be planned again. */
  readonly #dirty = new Set<string>()
  /** When the changes of endpoints happened that are not written yet, in wall time. */
  readonly #triggerTimesMs: number[] = []
  readonly #startedMs: number
  readonly #synced = Promise.withResolvers<void>()
  #zone = ''
  /** The mode whose rules are the only ones. */
  #modeAlone: ProxyMode | undefined
  #isConntrackStale = true
  #wake = Promise.withResolvers<void>()

  constructor(options: ServiceProxyOptions) {
    const { platform, client, linux, network, nodeName, metrics = new ProxyMetrics() } = options
    const { families } = network
    const { clock } = platform
    this.#options = options
    this.#passes = new SyncPasses({ clock, passes: options.passes ?? new PassLog(), nodeName })
    this.metrics = metrics
    this.#startedMs = platform.clock.now()
    this.health = new ProxyHealth(platform.clock, families)
    this.metrics.countDropped(families, () => this.#ports())
    if (options.usage) addProcessMetrics(this.metrics.registry, options.usage)
    this.#informers = new Informers({ platform, client })
    this.#reporter = new SyncReporter({ platform, client, nodeName })
    this.#proxier =
      options.proxier ??
      createProxier(options.mode ?? 'nftables', {
        platform,
        linux,
        network,
        log: platform.log,
        onRejected: kind => this.metrics.rejected(this.#proxier.mode, kind, families),
        onFallback: reason => this.#reporter.fellBack(reason),
      })
    this.#conntrack = new Conntrack(linux, platform, (family, seconds, deleted) => {
      this.metrics.conntrackDuration.with(familyLabel(family)).observe(seconds)
      this.metrics.conntrackDeleted.with(familyLabel(family)).add(deleted)
    })
    this.#services = this.#informers.of(services, { labelSelector: proxiedServices })
    const slices = this.#informers.of(endpointSlices, { labelSelector: proxiedServices })
    this.#slicesOf = slices.index('service', serviceOf)
    this.#services.addEventHandler(key => {
      this.metrics.serviceChanges.add()
      this.metrics.serviceChangesPending.add()
      this.#enqueue(key)
    })
    slices.addEventHandler((_key, { oldObject, newObject }) => {
      this.metrics.endpointChanges.add()
      this.metrics.endpointChangesPending.add()
      this.#recordTriggerTime(newObject)
      for (const slice of [oldObject, newObject])
        if (slice) for (const key of serviceOf(slice)) this.#enqueue(key)
    })
    this.#informers
      .of(nodes, { fieldSelector: `metadata.name=${nodeName}` })
      .addEventHandler((_key, { newObject }) => {
        this.health.setNode(newObject)
        this.#reporter.setNode(newObject)
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

  /** The mode that has effect, and why services cannot be written. */
  get status(): SyncStatus {
    return { mode: this.#proxier.mode, ...this.#reporter.status }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { platform, network, healthAddresses = network.nodeAddresses } = this.#options
    const following = Promise.all([
      this.#informers.run(signal),
      this.#reporter.run(signal),
      this.#serve(signal),
    ])
    await using _proxier = this.#proxier
    await using health = new ServiceHealthServer(platform, healthAddresses, () => this.health.isHealthy)
    await this.#informers.waitForSync(signal).catch(() => undefined)
    let failures = 0
    let idleMs = 0
    while (!signal.aborted) {
      try {
        const isLost = idleMs >= verifyIntervalMs && !(await this.#proxier.verify(signal))
        if (!(await this.#sync(signal)) || isLost) this.#options.onRulesLost?.()
        await health.sync(this.#health())
        failures = 0
        this.#reporter.succeeded()
        this.#synced.resolve()
        await this.#removeOtherRules()
      } catch (error) {
        if (signal.aborted) break
        failures++
        this.health.failed()
        this.#reporter.failed(error, this.#proxier.mode)
      }
      idleMs = await this.#rest(failures, signal)
    }
    await following
  }

  async #serve(signal: AbortSignal): Promise<void> {
    const { platform, servers, network, nodeName } = this.#options
    if (servers === undefined) return
    const configuration = (): Readonly<Record<string, unknown>> => ({
      kind: 'KubeProxyConfiguration',
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      mode: this.#proxier.mode,
      clusterCIDR: network.podCidrs.join(','),
      hostnameOverride: nodeName,
      nodePortAddresses: network.nodePortAddresses ?? [],
    })
    await runProxyServer(
      { platform, servers, health: this.health, metrics: this.metrics, configuration },
      signal,
    )
  }

  /** After the first sync in a mode, so that services are always handled. */
  async #removeOtherRules(): Promise<void> {
    const { mode } = this.#proxier
    if (this.#modeAlone === mode || this.#options.proxier) return
    this.#modeAlone = mode
    try {
      await removeOtherRules(this.#options, mode)
    } catch (error) {
      // Usually there are none.
      this.#options.platform.log.warn('Failed to remove the rules of other proxy modes', { mode, error })
    }
  }

  #recordTriggerTime(slice: EndpointSlice | undefined): void {
    const timeMs = Date.parse(slice?.metadata.annotations?.[triggerTimeAnnotation] ?? '')
    if (timeMs > this.#startedMs && this.#triggerTimesMs.length < triggerTimesMax)
      this.#triggerTimesMs.push(timeMs)
  }

  #enqueue(key: string): void {
    const nowSeconds = this.#options.platform.clock.now() / 1_000
    for (const family of this.#options.network.families)
      this.metrics.lastQueued.with(familyLabel(family)).value = nowSeconds
    this.health.queued()
    this.#dirty.add(key)
    this.#passes.add(key, this.#informers.handled.revision)
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
    const timeoutMs = this.#proxier.nextApplyMs ?? verifyIntervalMs
    const slept = clock.sleep(timeoutMs, AbortSignal.any([signal, waiting.signal])).catch(() => undefined)
    await Promise.race([this.#wake.promise, slept])
    waiting.abort()
    const idleMs = clock.monotonicMs() - startedMs
    if (this.#dirty.size > 0) await clock.sleep(debounceMs, signal).catch(() => undefined)
    return idleMs
  }

  /** False when the rules had been modified from outside. */
  async #sync(signal: AbortSignal): Promise<boolean> {
    const { network } = this.#options
    this.#wake = Promise.withResolvers()
    const keys = [...this.#dirty]
    this.#dirty.clear()
    this.#passes.begin(keys)
    for (const key of keys) this.#replan(key)
    this.#passes.planned()
    const triggered = this.#triggerTimesMs.length
    const wereWhole = await this.#apply(signal)
    this.#passes.end()
    this.#observeProgramming(this.#triggerTimesMs.splice(0, triggered))
    if (this.#isConntrackStale) {
      this.#isConntrackStale = false
      await this.#conntrack.deleteStaleEntries(network.families, [...this.#ports()], signal)
    }
    return wereWhole
  }

  /** Measured for each family, although all are written in one transaction. */
  async #apply(signal: AbortSignal): Promise<boolean> {
    const { platform, network } = this.#options
    const { syncDuration, fullSyncDuration, partialSyncDuration } = this.metrics
    const beganMs = platform.clock.monotonicMs()
    const ofKind = this.#proxier.isFullSyncNeeded ? fullSyncDuration : partialSyncDuration
    try {
      return await this.#proxier.apply(beganMs, signal)
    } finally {
      const seconds = (platform.clock.monotonicMs() - beganMs) / 1_000
      for (const duration of [syncDuration, ofKind])
        for (const family of network.families) duration.with(familyLabel(family)).observe(seconds)
    }
  }

  /** After a success. */
  #observeProgramming(triggerTimesMs: readonly number[]): void {
    const { lastSync, networkProgrammingDuration, serviceChangesPending, endpointChangesPending } =
      this.metrics
    const nowMs = this.#options.platform.clock.now()
    this.health.updated()
    if (this.#dirty.size > 0) this.health.queued()
    serviceChangesPending.value = 0
    endpointChangesPending.value = 0
    for (const label of this.#options.network.families.map(familyLabel)) {
      lastSync.with(label).value = nowMs / 1_000
      for (const timeMs of triggerTimesMs)
        networkProgrammingDuration.with(label).observe(Math.max(0, nowMs - timeMs) / 1_000)
    }
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
    this.#proxier.set(key, after?.ports ?? [])
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
