/**
 * A control plane component as a process of its own: serves health and metrics, waits for its lease and leads until it
 * is stopped. A process that loses its lease ends, as in Kubernetes, because what it has started cannot be continued.
 */
import { equalJson } from '#/api/text/json-value.ts'
import { LinkedAbort, onAbort } from '#/base/abort.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import { LeaderElector, newIdentity, type LeaderElectionTimings } from '#/client/leader-election.ts'
import { LeaderElectionMetrics } from '#/client/leader-election-metrics.ts'
import { followClusterClientCa } from '#/component-base/cluster-client-ca.ts'
import type { HealthCheck } from '#/component-base/health-checks.ts'
import { SecureServer } from '#/component-base/secure-server.ts'
import { ensureWebhookCertificates } from '#/kubeadm/webhook-certificates.ts'
import type { HttpTls, ServeHttp } from '#/platform/http.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { ComponentPart } from './component-parts.ts'

export interface ComponentElection {
  readonly lease: { readonly namespace: string; readonly name: string }
  readonly timings: LeaderElectionTimings
}

export interface ComponentServing {
  readonly host: string
  readonly port: number
  /**
   * Reads the files again, which may have been renewed. Without `cert` and `key` the certificate is self-signed and
   * in memory.
   */
  readonly read: () => Promise<Partial<HttpTls>>
  /** False if the authorities of clients are those that the API server publishes. */
  readonly hasClientCa: boolean
}

export interface ComponentProcessOptions {
  readonly platform: Platform
  readonly machine: {
    readonly serveHttp: ServeHttp
    readonly usage: () => ProcessUsage
    readonly crypto: Crypto
    /** Host name and addresses. */
    readonly names: readonly string[]
  }
  /** As in Kubernetes: `kube-scheduler`. */
  readonly name: string
  /** Nothing is served when absent. */
  readonly serving: ComponentServing | undefined
  /** Leads at once when absent. */
  readonly election: ComponentElection | undefined
  /** Of the leader election. */
  readonly client: Client
  readonly authenticationClient: Client | undefined
  readonly authorizationClient: Client | undefined
  /** Makes the component; `checks` are those of the leader election. */
  readonly component: (checks: readonly HealthCheck[]) => RunnableComponent
  readonly onListening?: (address: { readonly host: string; readonly port: number }) => void
}

export interface RunnableComponent {
  readonly part: ComponentPart
  /** `elected` resolves when the component may act; the signal is aborted when it must have stopped. */
  readonly run: (signal: AbortSignal, elected: Promise<void>) => Promise<void>
}

/** Tolerance of the health check after the lease has expired, as in Kubernetes. */
const electionToleranceMs = 20_000

/** The certificate files are read again after this time. */
const reloadPeriodMs = 60_000

/** Time for pending requests of clients when the process ends. */
const stopGraceMs = 1_000

export class ComponentProcess {
  readonly #options: ComponentProcessOptions
  #server: SecureServer | undefined
  #elector: LeaderElector | undefined

  constructor(options: ComponentProcessOptions) {
    this.#options = options
  }

  /** Runs until aborted; the lease is released then. Rejects when the lease was lost. */
  async run(signal: AbortSignal): Promise<void> {
    const { election, component: make, serving } = this.#options
    const check: HealthCheck = {
      name: 'leaderElection',
      check: () => this.#elector?.renewalFailure(electionToleranceMs),
    }
    const component = make(election === undefined ? [] : [check])
    using abort = new LinkedAbort(signal)
    const tls = serving && (await this.#startServer(serving, component.part))
    const keepingTls = serving && tls && this.#keepTls(serving, tls, abort.signal)
    try {
      await (election === undefined
        ? component.run(abort.signal, Promise.resolve())
        : this.#lead(election, component, abort))
    } finally {
      abort.abort(new Error('the component has ended'))
      await keepingTls
      await this.#server?.stop(stopGraceMs)
    }
  }

  async #lead(
    { lease, timings }: ComponentElection,
    component: RunnableComponent,
    abort: LinkedAbort,
  ): Promise<void> {
    const { signal } = abort
    const { platform, machine, client, name } = this.#options
    const recorder = new EventRecorder({ platform, client, component: name })
    const elected = Promise.withResolvers<void>()
    const lost = Promise.withResolvers<never>()
    const running = component.run(signal, elected.promise)
    const [hostName = name] = machine.names
    this.#elector = new LeaderElector({
      client,
      platform,
      recorder,
      lease,
      timings,
      identity: newIdentity(platform, hostName),
      metrics: new LeaderElectionMetrics(component.part.metrics),
      onStartedLeading: async term => {
        onAbort(term, () => {
          if (signal.aborted) return
          const { namespace, name: leaseName } = lease
          const reason = messageOf(term.reason)
          lost.reject(new Error(`leader election lost: lease ${namespace}/${leaseName}: ${reason}`))
          abort.abort(term.reason)
        })
        elected.resolve()
        await running
      },
    })
    const recording = recorder.run(signal)
    await Promise.race([lost.promise, Promise.all([this.#elector.run(signal), running, recording])])
  }

  async #startServer(serving: ComponentServing, part: ComponentPart): Promise<HttpTls> {
    const { platform, machine, name, onListening } = this.#options
    const { serveHttp, usage, crypto, names } = machine
    const { authenticationClient, authorizationClient } = this.#options
    const { host, port } = serving
    const request = { name, names: ['localhost', '127.0.0.1', ...names], existing: undefined }
    const { cert, key, caBundle } = await ensureWebhookCertificates({ platform, crypto }, request)
    // The private key of this authority is not kept, so that without another one no client certificate is valid.
    const tls: HttpTls = { cert, key, clientCa: caBundle, ...(await serving.read()) }
    const clients = { authenticationClient, authorizationClient }
    try {
      const listen = { platform, serveHttp, usage, host, port, tls }
      this.#server = await SecureServer.start({ ...listen, ...clients, ...part })
    } catch (cause) {
      throw new Error(`cannot listen at ${host} port ${port}: ${messageOf(cause)}`, { cause })
    }
    onListening?.(this.#server.address)
    return tls
  }

  /** Applies changes of the certificate files and of the published authorities until aborted. */
  async #keepTls(serving: ComponentServing, started: HttpTls, signal: AbortSignal): Promise<void> {
    const { platform, authenticationClient: client } = this.#options
    let tls = started
    const apply = (change: Partial<HttpTls>): void => {
      const next = { ...tls, ...change }
      if (equalJson(next, tls)) return
      tls = next
      this.#server?.setTls(next)
    }
    const onChange = (clientCa: string): void => apply({ clientCa })
    const following =
      serving.hasClientCa || client === undefined
        ? undefined
        : followClusterClientCa({ platform, client, onChange }, signal)
    while (!signal.aborted) {
      await platform.clock.sleep(reloadPeriodMs, signal).catch(() => undefined)
      if (signal.aborted) break
      try {
        apply(await serving.read())
      } catch (error) {
        platform.log.warn('Failed to reload serving certificates', { error })
      }
    }
    await following
  }
}
