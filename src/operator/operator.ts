/**
 * Runs the controllers and webhooks of an operator, the npm entry point `k8ts/controller/operator`: leader
 * election, shared informers, health, metrics, certificates and a graceful stop. The controllers run in the
 * same loop as the built-in ones. See `docs/operators.md` for users' documentation.
 */
import { LinkedAbort } from '#/base/abort.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import { LeaderElector, newIdentity, type LeaderElectionTimings } from '#/client/leader-election.ts'
import { LeaderElectionMetrics } from '#/client/leader-election-metrics.ts'
import { WorkQueueMetricsProvider } from '#/client/workqueue-metrics.ts'
import type { Controller } from '#/controllers/controller.ts'
import { ControllerManager } from '#/controllers/controller-manager.ts'
import { ensureWebhookCertificates, type WebhookCertificates } from '#/kubeadm/webhook-certificates.ts'
import type { HttpTls, ServeHttp } from '#/platform/http.ts'
import type { Platform } from '#/platform/platform.ts'
import { OperatorServer } from './operator-server.ts'
import { webhookCertificateController } from './webhook-certificate-controller.ts'
import type { Webhook } from './webhooks.ts'

export type { MetricsRegistry } from '#/base/metrics.ts'

export interface Operator {
  /** User agent, source of the leader election's events, and name of the Lease. */
  readonly name: string
  readonly controllers: readonly Controller[]
  /** Default: the usual timings of Kubernetes. `none` if only one replica ever runs. */
  readonly leaderElection?: LeaderElectionTimings | 'none'
  readonly webhooks?: OperatorWebhooks
  /** Address of health, metrics and webhooks, over HTTPS; default port 9443 of all addresses. */
  readonly listen?: { readonly host?: string; readonly port?: number }
  /** Registers own metrics, beside those of the work queues and the leader election. */
  readonly registerMetrics?: (registry: MetricsRegistry) => void
}

export interface OperatorWebhooks {
  readonly hooks: readonly Webhook[]
  /** The Service in the operator's namespace that selects its pods. */
  readonly service?: string
  /** Instead of `service`, for an operator outside of the cluster: `https://192.0.2.7:9443`. */
  readonly url?: string
}

/** The environment of an operator. */
export interface OperatorContext {
  readonly client: Client
  readonly platform: Platform
  readonly signal: AbortSignal
  /** Namespace of the Lease and of the certificate's Secret; default `default`. */
  readonly namespace?: string
  /** Part of the identity of the leader. */
  readonly hostName?: string
  /** Metrics of the client, beside which the operator's own are registered. */
  readonly metrics?: MetricsRegistry
  /** Absent in a simulation, which has no sockets: there are no health, metrics and webhooks then. */
  readonly machine?: OperatorMachine
}

export interface OperatorMachine {
  readonly serveHttp: ServeHttp
  readonly crypto: Crypto
  readonly onListening?: (address: { readonly host: string; readonly port: number }) => void
}

const portUsual = 9443

/** Time for pending webhook requests when the operator stops. */
const stopGraceMs = 5_000

/**
 * Runs until aborted; resolves when all reconciles in progress have finished and the lease is released.
 * Without a context it runs against the cluster of the environment (`KUBECONFIG`, the service account of its
 * pod, or `~/.kube/config`) until SIGTERM or SIGINT.
 */
export async function runOperator(operator: Operator, context?: OperatorContext): Promise<void> {
  if (context !== undefined) return new RunningOperator(operator, context).run()
  const { runOnMachine } = await import('./run-on-machine.ts')
  return runOnMachine(operator.name, own => new RunningOperator(operator, own).run())
}

class RunningOperator {
  readonly #operator: Operator
  readonly #context: OperatorContext
  /** The controllers of the current term as leader. */
  #manager: ControllerManager | undefined
  #server: OperatorServer | undefined
  #queueMetrics: WorkQueueMetricsProvider | undefined
  #electionMetrics: LeaderElectionMetrics | undefined
  #hasCertificate: boolean

  constructor(operator: Operator, context: OperatorContext) {
    this.#operator = operator
    this.#context = context
    this.#hasCertificate = operator.webhooks === undefined
  }

  async run(): Promise<void> {
    const { machine, signal } = this.#context
    using abort = new LinkedAbort(signal)
    if (machine !== undefined) await this.#startServer(machine)
    try {
      const parts = [this.#elect(abort.signal), this.#keepCertificates(abort.signal)]
      // If one part fails, the others are stopped in order, too.
      await Promise.all(parts).catch(async (error: unknown) => {
        abort.abort(error)
        await Promise.allSettled(parts)
        throw error
      })
    } finally {
      await this.#server?.stop(stopGraceMs)
    }
  }

  async #elect(signal: AbortSignal): Promise<void> {
    const { name, leaderElection } = this.#operator
    const { client, platform, namespace = 'default', hostName = name } = this.#context
    if (leaderElection === 'none') return this.#runControllers(signal)
    const recorder = new EventRecorder({ client, platform, component: name })
    const election = new LeaderElector({
      client,
      platform,
      recorder,
      lease: { namespace, name },
      identity: newIdentity(platform, hostName),
      ...(leaderElection !== undefined && { timings: leaderElection }),
      metrics: this.#electionMetrics,
      onStartedLeading: term => this.#runControllers(term),
    })
    await Promise.all([recorder.run(signal), election.run(signal)])
  }

  async #runControllers(signal: AbortSignal): Promise<void> {
    this.#manager = this.#managerOf(this.#operator.controllers)
    try {
      await this.#manager.run(signal)
    } finally {
      this.#manager = undefined
    }
  }

  #managerOf(controllers: readonly Controller[]): ControllerManager {
    const { client, platform } = this.#context
    const queueMetrics = this.#queueMetrics
    return new ControllerManager({ platform, controllers, client, clientFor: () => client, queueMetrics })
  }

  async #keepCertificates(signal: AbortSignal): Promise<void> {
    const { name, webhooks } = this.#operator
    const { namespace = 'default', machine } = this.#context
    if (webhooks === undefined || machine === undefined) return
    const { hooks, url, service = name } = webhooks
    const target = url === undefined ? { service: { namespace, name: service } } : { url }
    const onCertificates = (certificates: WebhookCertificates): void => {
      this.#server?.setTls(tlsOf(certificates))
      this.#hasCertificate = true
    }
    const { crypto } = machine
    const settings = { name, namespace, crypto, webhooks: hooks, target, onCertificates }
    await this.#managerOf([webhookCertificateController(settings)]).run(signal)
  }

  /** Begins with a certificate that is not stored, so that probes work before the cluster is reached. */
  async #startServer({ serveHttp, crypto, onListening }: OperatorMachine): Promise<void> {
    const { name, listen, webhooks, registerMetrics } = this.#operator
    const { platform } = this.#context
    const { metrics = new MetricsRegistry() } = this.#context
    this.#queueMetrics = new WorkQueueMetricsProvider(metrics)
    this.#electionMetrics = new LeaderElectionMetrics(metrics)
    registerMetrics?.(metrics)
    const request = { name, names: ['localhost'], existing: undefined }
    this.#server = await OperatorServer.start({
      serveHttp,
      host: listen?.host,
      port: listen?.port ?? portUsual,
      tls: tlsOf(await ensureWebhookCertificates({ platform, crypto }, request)),
      log: platform.log,
      metrics,
      webhooks: webhooks?.hooks ?? [],
      unreadyReason: () => this.#unreadyReason(),
    })
    onListening?.(this.#server.address)
  }

  /** A replica that waits for the lease is ready. */
  #unreadyReason(): string | undefined {
    if (!this.#hasCertificate) return 'the webhook certificate is not stored yet'
    return this.#manager?.hasSynced === false ? 'the informers have not synced' : undefined
  }
}

/** Client certificates are not used. */
function tlsOf({ cert, key, caBundle }: WebhookCertificates): HttpTls {
  return { cert, key, clientCa: caBundle }
}
