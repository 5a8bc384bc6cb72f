/**
 * Enforces network policies on a node: watches policies, and while there are any also pods and namespaces, and writes
 * nftables rules. Without a policy in the cluster only that watch exists, and no rules. Changes in quick succession
 * are written together. The rules remain when it stops, since pods keep running.
 * https://kubernetes.io/docs/concepts/services-networking/network-policies/
 */
import type { Pod } from '#/api/generated/core/v1.ts'
import { networkPolicies } from '#/api/generated/networking/v1-resources.ts'
import type { NetworkPolicy } from '#/api/generated/networking/v1.ts'
import { keyOf } from '#/api/metadata.ts'
import type { IpFamily } from '#/api/net/ip.ts'
import { untilAborted } from '#/base/abort.ts'
import { backoffMs } from '#/base/backoff.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import { Informer } from '#/client/informer.ts'
import { removeNftablesTables, staleMs } from '#/nftables/nftables-tables.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Enforcement } from './enforcement.ts'
import { KnownAddresses } from './known-addresses.ts'
import type { NetworkPolicyMetrics } from './network-policy-metrics.ts'
import { podWaitMs } from './wait-for-pod-rules.ts'

export interface NetworkPolicyAgentOptions {
  readonly platform: Platform
  /** Runs commands in the node's network namespace. */
  readonly linux: Pick<Linux, 'run'>
  /** Authenticated as `system:kube-proxy`. */
  readonly client: Client
  readonly nodeName: string
  /** Name of the tables. */
  readonly table: string
  readonly families: readonly IpFamily[]
  readonly metrics?: NetworkPolicyMetrics
}

/** Debounce: changes within this time are written in one sync. */
const debounceMs = 10

/** Interval of verification when idle. */
const verifyIntervalMs = 60_000

/** Maximum length of the message of an event; that of `nft` may have a line for each rule. */
const messageMax = 1_024

const retry = { initialMs: 200, maxMs: 30_000, factor: 2, jitter: 0.1 }

export class NetworkPolicyAgent {
  readonly #options: NetworkPolicyAgentOptions
  readonly #policies: Informer<NetworkPolicy>
  readonly #recorder: EventRecorder
  readonly #known = new KnownAddresses()
  readonly #synced = Promise.withResolvers<void>()
  /** Resolvers of pods that wait for a sync which begins from now on. */
  readonly #waiting = new Set<() => void>()
  #enforcement: Enforcement | undefined
  /** True if there may be tables of this or an earlier process without a policy. */
  #mayHaveTables = true
  #wake = Promise.withResolvers<void>()
  #isChanged = false
  #verifiedAtMs = 0

  constructor(options: NetworkPolicyAgentOptions) {
    const { platform, client, nodeName, metrics } = options
    this.#options = options
    this.#policies = new Informer({ platform, client, resource: networkPolicies })
    this.#policies.addEventHandler(() => this.#requestSync())
    this.#recorder = new EventRecorder({ client, platform, component: 'network-policy', host: nodeName })
    if (metrics)
      metrics.read = () => ({
        activePolicies: 0,
        peerSets: 0,
        objects: 0,
        ...this.#enforcement?.enforced,
        policies: this.#policies.list().length,
      })
  }

  /** Resolves after the first complete sync. */
  get synced(): Promise<void> {
    return this.#synced.promise
  }

  /**
   * Resolves when the rules of a pod are written that is about to start, or after a bounded time. Does nothing if
   * there is no policy in the cluster.
   */
  async protectPod(pod: Pod, addresses: readonly string[], signal: AbortSignal): Promise<void> {
    const { platform } = this.#options
    if (this.#policies.hasSynced && this.#isIdle()) return
    const key = keyOf(pod)
    for (const changed of [...this.#known.add(pod, addresses), key]) this.#enforcement?.podChanged(changed)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.add(resolve)
    this.#requestSync()
    const giveUp = new AbortController()
    const late = platform.clock.sleep(podWaitMs, AbortSignal.any([signal, giveUp.signal])).then(
      () => platform.log.warn('Pod starts before its network policies are in force', { pod: key }),
      () => undefined,
    )
    await Promise.race([promise, late])
    this.#waiting.delete(resolve)
    giveUp.abort()
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const following = Promise.all([this.#policies.run(signal), this.#recorder.run(signal)])
    await this.#policies.waitForSync(signal).catch(() => undefined)
    let failures = 0
    while (!signal.aborted) {
      try {
        await this.#verify(signal)
        await this.#sync(signal)
        failures = 0
      } catch (error) {
        if (signal.aborted) break
        this.#report(error, failures++)
      }
      await this.#rest(failures, signal)
    }
    await this.#enforcement?.[Symbol.asyncDispose]()
    await following
  }

  /** In intervals: while nothing changes, and when changes of pods concern no policy and write nothing. */
  async #verify(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options.platform
    const nowMs = clock.monotonicMs()
    if (this.#enforcement === undefined || nowMs - this.#verifiedAtMs < verifyIntervalMs) return
    this.#verifiedAtMs = nowMs
    if (!(await this.#enforcement.verify(signal)))
      log.warn('Network policy rules were removed, writing them again')
  }

  /** True if there is neither a policy nor a rule. */
  #isIdle(): boolean {
    return this.#policies.list().length === 0 && this.#enforcement === undefined && !this.#mayHaveTables
  }

  async #sync(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.platform
    const { metrics } = this.#options
    this.#wake = Promise.withResolvers()
    this.#isChanged = false
    const waiting = [...this.#waiting]
    const beganMs = clock.monotonicMs()
    if (this.#policies.list().length === 0) await this.#disable()
    else await this.#enforce(signal)
    for (const resolve of waiting) resolve()
    metrics?.syncDuration.with().observe((clock.monotonicMs() - beganMs) / 1_000)
    if (metrics) metrics.lastSync.value = clock.now() / 1_000
    this.#synced.resolve()
  }

  async #enforce(signal: AbortSignal): Promise<void> {
    const { platform } = this.#options
    this.#mayHaveTables = true
    if (this.#enforcement === undefined) {
      this.#verifiedAtMs = platform.clock.monotonicMs()
      platform.log.info('Enforcing network policies', { policies: this.#policies.list().length })
      // Loaded with the first policy.
      const { Enforcement } = await import('./enforcement.ts')
      const onChange = (): void => this.#requestSync()
      const policies = this.#policies
      this.#enforcement = new Enforcement({
        ...this.#options,
        policies,
        known: this.#known,
        onChange,
        onExcluded: (key, selectors) => this.#reportExcluded(key, selectors),
      })
      for (const key of this.#known.keys()) this.#enforcement.podChanged(key)
    }
    await this.#enforcement.start(signal)
    await this.#enforcement.sync(signal)
  }

  async #disable(): Promise<void> {
    const { linux, table } = this.#options
    await this.#enforcement?.[Symbol.asyncDispose]()
    this.#enforcement = undefined
    this.#known.clear()
    if (this.#mayHaveTables) await removeNftablesTables(linux, table)
    this.#mayHaveTables = false
  }

  #report(error: unknown, failuresBefore: number): void {
    const { platform, nodeName, metrics } = this.#options
    metrics?.syncFailures.add()
    platform.log.error('Failed to sync network policies', { error })
    if (failuresBefore > 0) return
    // Events of nodes have the name instead of the UID, which is how clients look them up.
    const about = { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName, uid: nodeName } }
    this.#recorder.record(about, {
      type: 'Warning',
      reason: 'FailedToSyncNetworkPolicies',
      message: `Network policies are not up to date on this node, will retry: ${messageOf(error)}`.slice(
        0,
        messageMax,
      ),
    })
  }

  #reportExcluded(key: string, selectors: number): void {
    const policy = this.#policies.get(key)
    if (policy === undefined) return
    const message =
      `The policies of namespace ${policy.metadata.namespace} select too many peers: ${selectors} selectors of this ` +
      `policy select nothing on node ${this.#options.nodeName}. Use fewer selectors, or ipBlock`
    const { apiVersion, kind } = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy' } as const
    const about = { ...policy, apiVersion, kind }
    this.#recorder.record(about, { type: 'Warning', reason: 'TooManyPeers', message })
  }

  #requestSync(): void {
    this.#isChanged = true
    this.#wake.resolve()
  }

  /** Waits for a change, the next verification or the retry backoff. */
  async #rest(failures: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options.platform
    const pause = (ms: number, stop = signal): Promise<void> => clock.sleep(ms, stop).catch(() => undefined)
    if (failures > 0) return pause(backoffMs(failures, retry, random.fraction('network policy retry')))
    const waiting = new AbortController()
    const stop = AbortSignal.any([signal, waiting.signal])
    const enforcement = this.#enforcement
    const timeoutMs = enforcement?.hasStale ? staleMs : verifyIntervalMs
    const slept = enforcement ? pause(timeoutMs, stop) : untilAborted(stop)
    await Promise.race([this.#wake.promise, slept])
    waiting.abort()
    if (this.#isChanged) await pause(debounceMs)
  }
}
