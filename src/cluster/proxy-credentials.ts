/**
 * The credentials of the service proxy as a process of its own: a client certificate that it requests with the
 * identity of the node's kubelet, and the kubeconfig with it. The kubelet's kubeconfig may come later, by its TLS
 * bootstrapping.
 */
import { clientOf } from '#/client/client.ts'
import { openConnection, type ConnectionSettings } from '#/client/connection.ts'
import { retryUntilDone } from '#/component-base/retry-until-done.ts'
import { CertificateRotation, type RequestClient } from '#/kubelet/certificate-rotation.ts'
import { readKubeconfig, writeClientKubeconfig } from '#/kubelet/node-kubeconfig.ts'
import type { Linux } from '#/platform/linux.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'

export interface ProxyCredentialsOptions {
  readonly platform: Platform
  readonly linux: Pick<Linux, 'files'>
  readonly crypto: Crypto
  readonly connect: HttpConnect
  readonly nodeName: string
  /** Folder of the certificate. */
  readonly folder: string
  /** Path of the kubeconfig that is written. */
  readonly kubeconfig: string
  /** Path of the kubeconfig of the kubelet. */
  readonly bootstrapKubeconfig: string
}

export interface ProxyCredentials {
  readonly settings: ConnectionSettings
  /** Renews the certificate until aborted. Connections read its file again. */
  readonly run: (signal: AbortSignal) => Promise<void>
}

/** Failures are retried until aborted. */
export async function ensureProxyCredentials(
  options: ProxyCredentialsOptions,
  signal: AbortSignal,
): Promise<ProxyCredentials> {
  const { platform, bootstrapKubeconfig: kubeconfig } = options
  const rotation = CertificateRotation.proxyClient({ ...options, openClient: () => openNodeClient(options) })
  const attempt = async (): Promise<ProxyCredentials> => {
    const current = await rotation.ensure(signal)
    const settings = await writeKubeconfig(options, rotation.store.currentPath)
    return { settings, run: running => rotation.run({ current, onRotated: () => undefined }, running) }
  }
  const onFailure = (error: unknown, failures: number): void => {
    if (!(error instanceof MissingKubeconfigError))
      platform.log.error('Failed to request the certificate of the service proxy, will retry', {
        kubeconfig,
        error,
      })
    else if (failures === 1) platform.log.info('Waiting for the kubeconfig of the kubelet', { kubeconfig })
  }
  return retryUntilDone(attempt, { platform, backoff, onFailure }, signal)
}

const backoff = { initialMs: 500, maxMs: 10_000, factor: 2, jitter: 0.1 }
/** The API server and its authority are those of the kubelet. */
async function writeKubeconfig(
  options: ProxyCredentialsOptions,
  certificatePath: string,
): Promise<ConnectionSettings> {
  const { platform, kubeconfig: path } = options
  const cluster = await readNodeKubeconfig(options)
  await writeClientKubeconfig(platform, { path, certificatePath, cluster })
  return requireKubeconfig(platform, path)
}

async function openNodeClient(options: ProxyCredentialsOptions): Promise<RequestClient> {
  const { platform, connect } = options
  const transport = await openConnection({ platform, connect, settings: await readNodeKubeconfig(options) })
  const client = clientOf({ platform, transport, userAgent: 'kube-proxy' })
  return { client, [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose]() }
}

/** Rejects when there is no such file. */
export async function requireKubeconfig(platform: Platform, path: string): Promise<ConnectionSettings> {
  const settings = await readKubeconfig(platform, path)
  if (settings === undefined) throw new Error(`cannot read kubeconfig ${path}: file not found`)
  return settings
}

class MissingKubeconfigError extends Error {}

async function readNodeKubeconfig({
  platform,
  bootstrapKubeconfig: path,
}: ProxyCredentialsOptions): Promise<ConnectionSettings> {
  const settings = await readKubeconfig(platform, path)
  if (settings === undefined) throw new MissingKubeconfigError(`${path} does not exist yet`)
  return settings
}
