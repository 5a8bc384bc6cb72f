/**
 * The connection of a kubelet to the API server, and its certificates: the client certificate, which it bootstraps and
 * rotates, and the serving certificate of its server.
 */
import type { MetricsRegistry } from '#/base/metrics.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection, type ConnectionSettings } from '#/client/connection.ts'
import { RestClientMetrics } from '#/client/rest-client-metrics.ts'
import { retryUntilDone } from '#/component-base/retry-until-done.ts'
import { readContent } from '#/kubeconfig/connection-settings.ts'
import type { CertificateRotation } from '#/kubelet/certificate-rotation.ts'
import {
  bootstrapClientCertificate,
  clientCertificateRotation,
  servingCertificateRotation,
} from '#/kubelet/tls-bootstrap.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { NodeMachine, RenewedCertificate, StartNodeKubelet } from './node-kubelet.ts'

export interface KubeletConnectionOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly machine: Pick<NodeMachine, 'crypto' | 'connectHttp'>
  readonly nodeName: string
  /** Host names and addresses of the serving certificate. */
  readonly names: readonly string[]
  /** Path of `kubelet.conf`. */
  readonly kubeconfig: string
  readonly bootstrapKubeconfig: string
  /** Folder of the certificates. */
  readonly certificates: string
  /** Path of the authorities of clients; those of the API server when absent. */
  readonly clientCaFile?: string | undefined
  /** Requested from the cluster when absent. */
  readonly servingCertificate?: RenewedCertificate | undefined
  /** True unless the client certificate is renewed by another program. */
  readonly isClientRotated?: boolean
}

export interface KubeletConnection extends AsyncDisposable {
  readonly start: StartNodeKubelet
}

/** Resolves when the kubelet has a client certificate; failures of requests for it are retried until aborted. */
export async function connectKubelet(
  options: KubeletConnectionOptions,
  signal: AbortSignal,
): Promise<KubeletConnection> {
  const { platform, linux, machine, nodeName, kubeconfig, bootstrapKubeconfig, isClientRotated } = options
  const { crypto, connectHttp: connect } = machine
  const credentials = {
    platform,
    linux,
    crypto,
    connect,
    nodeName,
    folder: options.certificates,
    bootstrapKubeconfig,
  }
  const settings = await bootstrapClientCertificate({ ...credentials, kubeconfig }, signal)
  const transport = await openConnection({ platform, connect, settings })
  const kubelet = { platform, transport, userAgent: 'kubelet' }
  const client = clientOf(kubelet)
  const names = (): readonly string[] => options.names
  const measured = (registry: MetricsRegistry): Client => {
    const metrics = new RestClientMetrics(registry).forHost(new URL(settings.server).host)
    return clientOf({ ...kubelet, metrics })
  }
  return {
    start: {
      client: measured,
      clientCa: await readClientCa(options, settings),
      servingCertificate:
        options.servingCertificate ??
        renewed(platform, servingCertificateRotation({ ...credentials, client, names })),
      ...(isClientRotated !== false && {
        clientCertificate: renewed(platform, clientCertificateRotation({ ...credentials, client })),
      }),
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

async function readClientCa(
  { platform, clientCaFile, kubeconfig }: KubeletConnectionOptions,
  { ca }: ConnectionSettings,
): Promise<string> {
  const source = clientCaFile === undefined ? ca : { file: clientCaFile }
  if (source === undefined)
    throw new Error(`no authorities of clients: set --client-ca-file, since ${kubeconfig} has none`)
  return Buffer.from(await readContent(platform, source)).toString()
}

/** Requests are repeated: the API server may start after the kubelet. */
function renewed({ log, ...platform }: Platform, rotation: CertificateRotation): RenewedCertificate {
  const onFailure = (error: unknown): void =>
    log.error('Failed to request a certificate, will retry', { error })
  const retry = { platform: { ...platform, log }, backoff, onFailure }
  return {
    ensure: signal => retryUntilDone(() => rotation.ensure(signal), retry, signal),
    run: (listener, signal) => rotation.run(listener, signal),
  }
}

const backoff = { initialMs: 500, maxMs: 60_000, factor: 2, jitter: 0.1 }
