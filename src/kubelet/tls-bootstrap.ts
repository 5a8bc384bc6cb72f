/**
 * TLS bootstrapping of a node: gets the kubelet's first client certificate with the bootstrap token of
 * `bootstrap-kubelet.conf`, and writes `kubelet.conf` with it. A kubelet that is killed meanwhile continues with the
 * same key and CertificateSigningRequest.
 * https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/
 */
import { backoffMs } from '#/base/backoff.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { openConnection, type ConnectionSettings } from '#/client/connection.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import {
  CertificateRotation,
  nodeSubject,
  requestRetry,
  type CertificateRotationOptions,
  type KeyAndCertificate,
  type RequestClient,
} from './certificate-rotation.ts'
import { readClientCertificate, readKubeconfig, writeClientKubeconfig } from './node-kubeconfig.ts'
import { validityProblem } from './certificates/rotation-reason.ts'

export interface TlsBootstrapOptions extends Omit<CertificateRotationOptions, 'openClient'> {
  readonly connect: HttpConnect
  /** Path of `kubelet.conf`. */
  readonly kubeconfig: string
  /** Path of `bootstrap-kubelet.conf`, which is needed only without a valid client certificate. */
  readonly bootstrapKubeconfig: string
  /** Called after each failed attempt. */
  readonly onFailure?: (error: unknown) => void
}

/**
 * Resolves to the settings of `kubelet.conf` when it has a valid client certificate of the node. Failures of requests
 * are retried until aborted. Rejects when there is neither a valid certificate nor a bootstrap kubeconfig.
 */
export async function bootstrapClientCertificate(
  options: TlsBootstrapOptions,
  signal: AbortSignal,
): Promise<ConnectionSettings> {
  const { platform, linux, kubeconfig, bootstrapKubeconfig, nodeName } = options
  const settings = await readIfUsable(options)
  const pair = settings && (await readClientCertificate(platform, linux, settings))
  const problem = validityProblem(pair?.cert, nodeSubject(nodeName), platform.clock.now())
  const rotation = clientCertificateRotation({ ...options, client: undefined })
  const { currentPath } = rotation.store
  if (settings !== undefined && pair !== undefined && problem === undefined) {
    if (refersTo(settings, currentPath)) return settings
    // The kubeconfig of a control plane node has an embedded certificate, which could not be rotated.
    await rotation.store.update(pair)
  } else {
    platform.log.info('Using bootstrap kubeconfig to generate TLS client cert, key and kubeconfig file', {
      reason: problem,
    })
    await ensureWithRetries(options, rotation, signal)
  }
  const cluster = problem === undefined ? settings : await readKubeconfig(platform, bootstrapKubeconfig)
  if (cluster === undefined) throw missingBootstrap(options, problem)
  await writeClientKubeconfig(platform, { path: kubeconfig, certificatePath: currentPath, cluster })
  const written = await readKubeconfig(platform, kubeconfig)
  if (written === undefined) throw new Error(`cannot read kubeconfig ${kubeconfig}: file not found`)
  return written
}

export interface ClientCertificateRotationOptions extends Omit<
  TlsBootstrapOptions,
  'kubeconfig' | 'onFailure'
> {
  /** Authenticated with the certificate that is rotated; undefined before TLS bootstrapping. */
  readonly client: Client | undefined
}

/** Without a valid certificate, requests are authenticated with the bootstrap kubeconfig, if it exists. */
export function clientCertificateRotation(options: ClientCertificateRotationOptions): CertificateRotation {
  return CertificateRotation.client({
    ...options,
    openClient: async hasCertificate => {
      const { client } = options
      if (client !== undefined && hasCertificate) return borrowed(client)
      const bootstrap = await openBootstrapClient(options)
      if (bootstrap !== undefined) return bootstrap
      // A connection from before the certificate has expired may still be open.
      if (client !== undefined) return borrowed(client)
      throw missingBootstrap(options, undefined)
    },
  })
}

export interface ServingCertificateRotationOptions extends Omit<CertificateRotationOptions, 'openClient'> {
  /** Authenticated as the node. */
  readonly client: Client
  /** Host names and addresses of the node's status. */
  readonly names: () => readonly string[]
}

export function servingCertificateRotation(options: ServingCertificateRotationOptions): CertificateRotation {
  return CertificateRotation.serving({ ...options, openClient: async () => borrowed(options.client) })
}

async function ensureWithRetries(
  { platform, bootstrapKubeconfig, onFailure }: TlsBootstrapOptions,
  rotation: CertificateRotation,
  signal: AbortSignal,
): Promise<KeyAndCertificate> {
  for (let failures = 1; ; failures++) {
    try {
      return await rotation.ensure(signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof MissingBootstrapError) throw error
      platform.log.error('Failed to bootstrap the client certificate, will retry', {
        kubeconfig: bootstrapKubeconfig,
        error,
      })
      onFailure?.(error)
      const delayMs = backoffMs(failures, requestRetry, platform.random.fraction('tls-bootstrap'))
      await platform.clock.sleep(delayMs, signal)
    }
  }
}

async function readIfUsable({
  platform,
  kubeconfig,
}: TlsBootstrapOptions): Promise<ConnectionSettings | undefined> {
  try {
    return await readKubeconfig(platform, kubeconfig)
  } catch (error) {
    platform.log.warn('Unable to read existing kubeconfig', { kubeconfig, error })
    return undefined
  }
}

function refersTo({ user: { certificate } }: ConnectionSettings, path: string): boolean {
  const { cert, key } = certificate ?? {}
  return [cert, key].every(source => source !== undefined && 'file' in source && source.file === path)
}

async function openBootstrapClient({
  platform,
  connect,
  bootstrapKubeconfig,
}: Pick<TlsBootstrapOptions, 'platform' | 'connect' | 'bootstrapKubeconfig'>): Promise<
  RequestClient | undefined
> {
  const settings = await readKubeconfig(platform, bootstrapKubeconfig)
  if (settings === undefined) return undefined
  const transport = await openConnection({ platform, connect, settings })
  const client = clientOf({ platform, transport, userAgent: 'kubelet' })
  return { client, [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose]() }
}

function borrowed(client: Client): RequestClient {
  return { client, [Symbol.asyncDispose]: async () => undefined }
}

class MissingBootstrapError extends Error {}

function missingBootstrap(
  { nodeName, bootstrapKubeconfig }: Pick<TlsBootstrapOptions, 'nodeName' | 'bootstrapKubeconfig'>,
  reason: string | undefined,
): Error {
  const why = reason === undefined ? '' : ` (${reason})`
  return new MissingBootstrapError(
    `cannot get a client certificate for node ${nodeName}${why}: ${bootstrapKubeconfig} does not exist; ` +
      'join the node again with a bootstrap token',
  )
}
