/**
 * The HTTPS servers of the controller manager and the scheduler at the node's address, on the ports of Kubernetes,
 * as each would have them as a separate process.
 */
import { SecureServer } from '#/component-base/secure-server.ts'
import { ensureComponentCertificates, type ComponentCertificates } from '#/kubeadm/component-certificates.ts'
import type { CertificateAuthority } from '#/kubeadm/certificates.ts'
import { renewCertificates } from '#/component-base/renew-certificates.ts'
import * as identities from '#/kubeadm/identities.ts'
import type { HttpTls, ServeHttp } from '#/platform/http.ts'
import type { Platform } from '#/platform/platform.ts'
import type { ProcessUsage } from '#/platform/process-usage.ts'
import type { ControlPlane } from './control-plane.ts'
import {
  controllerManagerPart,
  controllerManagerPort,
  schedulerPart,
  schedulerPort,
  type ComponentPart,
} from './component-parts.ts'

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

const ports = { controllerManager: controllerManagerPort, scheduler: schedulerPort }
const users = { controllerManager: identities.controllerManager, scheduler: identities.scheduler }

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
    const port = ports[name]
    const client = this.#options.controlPlane.clientAs(users[name].commonName)
    const clients = { authenticationClient: client, authorizationClient: client }
    const tls = this.#tlsOf(certificates, name)
    const listen = { platform, serveHttp, usage, host, port, tls }
    try {
      const server = await SecureServer.start({ ...listen, ...clients, ...this.#part(name) })
      this.#servers.push({ server, name })
    } catch (error) {
      platform.log.warn('Failed to serve metrics and health of a component', { name, port, error })
    }
  }

  #part(name: keyof ComponentCertificates): ComponentPart {
    const { controlPlane, host } = this.#options
    const { controllers, metrics, scheduler } = controlPlane
    const stopping = this.#stopping.signal
    if (name === 'scheduler') return schedulerPart({ scheduler, metrics: metrics.scheduler, stopping })
    const generic = { Address: host, Port: controllerManagerPort }
    return controllerManagerPart({ controllers, metrics: metrics.controllers, generic })
  }

  #tlsOf(certificates: ComponentCertificates, name: keyof ComponentCertificates): HttpTls {
    return { ...certificates[name], clientCa: this.#options.ca.cert }
  }
}
