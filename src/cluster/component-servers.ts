/**
 * The HTTPS servers of the controller manager and the scheduler at the node's address, on the ports of Kubernetes,
 * as each would have them as a separate process.
 */
import { SecureServer, type SecureServerOptions } from '#/component-base/secure-server.ts'
import { ensureComponentCertificates, type ComponentCertificates } from '#/kubeadm/component-certificates.ts'
import type { CertificateAuthority } from '#/kubeadm/certificates.ts'
import { renewCertificates } from '#/kubeadm/renew-certificates.ts'
import type { HttpTls, ServeHttp } from '#/platform/http.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { ControlPlane } from './control-plane.ts'

export interface ComponentServersOptions {
  readonly platform: Platform
  readonly machine: {
    readonly serveHttp: ServeHttp
    readonly crypto: Crypto
    readonly usage: () => ProcessUsage
  }
  readonly controlPlane: ControlPlane
  /** Address of the node. */
  readonly host: string
  /** Folder of the serving certificates. */
  readonly folder: string
  readonly ca: CertificateAuthority
}

const controllerManagerPort = 10_257
const schedulerPort = 10_259

const graceMs = 1_000

export class ComponentServers implements AsyncDisposable {
  readonly #options: ComponentServersOptions
  readonly #stopping = new AbortController()
  readonly #servers: { readonly server: SecureServer; readonly name: keyof ComponentCertificates }[] = []
  #renewing: Promise<void> | undefined

  private constructor(options: ComponentServersOptions) {
    this.#options = options
  }

  /** A component whose port is in use has no server; everything else works without it. */
  static async start(options: ComponentServersOptions): Promise<ComponentServers> {
    const servers = new ComponentServers(options)
    await servers.#start()
    return servers
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#servers.map(({ server }) => server.stop(graceMs)))
    await this.#renewing
  }

  async #start(): Promise<void> {
    const { platform, machine, folder, ca, host, controlPlane } = this.#options
    const { crypto } = machine
    const ensure = (): Promise<ComponentCertificates> =>
      ensureComponentCertificates({ platform, crypto, folder, ca, names: [host] })
    const current = await ensure()
    const { components } = controlPlane
    await Promise.all([
      components.includes('controllers') && this.#serve('controllerManager', current),
      components.includes('scheduler') && this.#serve('scheduler', current),
    ])
    const onRenewed = (next: ComponentCertificates): void => {
      for (const { server, name } of this.#servers) server.setTls(this.#tlsOf(next, name))
    }
    this.#renewing = renewCertificates({ platform, current, ensure, onRenewed }, this.#stopping.signal)
  }

  async #serve(name: keyof ComponentCertificates, certificates: ComponentCertificates): Promise<void> {
    const { platform, machine, host } = this.#options
    const { serveHttp, usage } = machine
    const part = name === 'scheduler' ? this.#scheduler() : this.#controllerManager()
    const tls = this.#tlsOf(certificates, name)
    try {
      const server = await SecureServer.start({ ...part, platform, serveHttp, usage, host, tls })
      this.#servers.push({ server, name })
    } catch (error) {
      platform.log.warn('Failed to serve metrics and health of a component', { name, port: part.port, error })
    }
  }

  #controllerManager(): ComponentPart {
    const { controlPlane, host } = this.#options
    const { controllers, metrics } = controlPlane
    const port = controllerManagerPort
    return {
      port,
      client: controlPlane.clientAs('system:kube-controller-manager'),
      metrics: metrics.controllers,
      health: { healthz: controllers.map(name => ({ name, check: () => undefined })) },
      configz: () => {
        const Generic = { Address: host, Port: port, Controllers: controllers }
        return { 'kubecontrollermanager.config.k8s.io': { Generic } }
      },
    }
  }

  #scheduler(): ComponentPart {
    const { controlPlane } = this.#options
    const { metrics, scheduler } = controlPlane
    const shutdown = (): string | undefined =>
      this.#stopping.signal.aborted ? 'process is shutting down' : undefined
    const handlerSync = (): string | undefined =>
      scheduler.hasSynced ? undefined : 'waiting for handlers to sync'
    return {
      port: schedulerPort,
      client: controlPlane.clientAs('system:kube-scheduler'),
      metrics: metrics.scheduler,
      moreMetrics: { '/metrics/resources': scheduler.podResourceMetrics() },
      health: {
        healthz: [],
        livez: [],
        readyz: [
          { name: 'shutdown', check: shutdown },
          { name: 'sched-handler-sync', check: handlerSync },
        ],
      },
      configz: () => ({ componentconfig: scheduler.configuration }),
    }
  }

  #tlsOf(certificates: ComponentCertificates, name: keyof ComponentCertificates): HttpTls {
    return { ...certificates[name], clientCa: this.#options.ca.cert }
  }
}

type ComponentPart = Omit<SecureServerOptions, 'platform' | 'serveHttp' | 'usage' | 'host' | 'tls'>
