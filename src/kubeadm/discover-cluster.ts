/**
 * Token-based discovery: how a joining machine learns the certificate authority of a cluster of which it knows an
 * address, a token and a hash. `cluster-info` is read without verification of the server, its signature is verified
 * with the token and its CA with the hash; then it is read again over a verified connection and must be the same.
 * https://kubernetes.io/docs/reference/setup-tools/kubeadm/kubeadm-join/#token-based-discovery-with-ca-pinning
 */
import { isApiError } from '#/api/errors.ts'
import { configMaps } from '#/api/generated/core/v1-resources.ts'
import { messageOf } from '#/base/message-of.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { HttpTransport } from '#/client/http.ts'
import { TransportError } from '#/client/transport.ts'
import { anonymous } from '#/kubeconfig/credentials.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { BootstrapToken } from './bootstrap-token.ts'
import { splitCertificates, validatePinnedCa } from './ca-cert-hash.ts'
import { readClusterAccess, type ClusterAccess } from './kubeconfig-file.ts'
import { clockProblem } from './clock-problem.ts'
import { clusterInfoKey, validateClusterInfo } from './cluster-info.ts'

export interface DiscoverClusterOptions {
  readonly platform: Platform
  readonly connect: HttpConnect
  /** `host:port` of an API server. */
  readonly endpoint: string
  readonly token: Pick<BootstrapToken, 'id' | 'secret'>
  /** Empty only if the CA is not to be verified. */
  readonly caCertHashes: readonly string[]
  /** For a server that is not there yet; five minutes in kubeadm. */
  readonly timeoutMs: number
  /** Called with the reason of the first of several failures that are equal. */
  readonly onRetry?: (reason: string) => void
}

const retryMs = 5_000

/** The signature of a new token appears within moments, so a token that is not signed for longer is unknown. */
const unsignedMs = 30_000

/** Rejects with one line that says what to do. */
export async function discoverCluster(options: DiscoverClusterOptions): Promise<ClusterAccess> {
  const { endpoint, caCertHashes } = options
  const kubeconfig = await readSigned(options)
  const access = readClusterAccess(kubeconfig)
  if (access === undefined)
    throw new Error(
      `cannot join ${endpoint}: the kubeconfig in ConfigMap cluster-info has no server with a CA`,
    )
  if (caCertHashes.length === 0) return access
  const problem = validatePinnedCa(access.caCertificates, caCertHashes)
  if (problem !== undefined) {
    const way = 'compare --discovery-token-ca-cert-hash with k8ts token create --print-join-command'
    throw new Error(
      `cannot join ${endpoint}: cluster CA found in cluster-info ConfigMap is invalid: ${problem}; ${way}`,
    )
  }
  await using verified = clusterInfoClient(options, splitCertificates(access.caCertificates).join(''))
  const { data } = await verified.client.get(configMaps, clusterInfoKey).catch((error: unknown) => {
    throw new Error(`cannot join ${endpoint}: ${clockProblem(error) ?? describe(error)}`, { cause: error })
  })
  if (data?.['kubeconfig'] !== kubeconfig)
    throw new Error(
      `cannot join ${endpoint}: the kubeconfig in ConfigMap cluster-info differs over a verified connection`,
    )
  return access
}

/** Reads `cluster-info` until it is signed with the token. */
async function readSigned(options: DiscoverClusterOptions): Promise<string> {
  const { platform, endpoint, token, timeoutMs, onRetry } = options
  const { clock } = platform
  const startMs = clock.monotonicMs()
  let unsignedSinceMs = Infinity
  let lastReason = ''
  await using unverified = clusterInfoClient(options, undefined)
  for (;;) {
    const read = await readOnce(unverified.client, token)
    if (read.type === 'valid') return read.kubeconfig
    if (read.type === 'invalid') throw new Error(`cannot join ${endpoint}: ${read.reason}`)
    const nowMs = clock.monotonicMs()
    unsignedSinceMs = read.type === 'unsigned' ? Math.min(unsignedSinceMs, nowMs) : Infinity
    if (nowMs - unsignedSinceMs >= unsignedMs) {
      const reason = `token id "${token.id}" is invalid for this cluster or it has expired`
      throw new Error(`cannot join ${endpoint}: ${reason}; run k8ts token create on a control plane`)
    }
    const reason = read.type === 'failed' ? read.reason : `no signature for token id "${token.id}"`
    if (nowMs - startMs >= timeoutMs)
      throw new Error(
        `cannot join ${endpoint}: ${reason}; check the address and that the API server is running`,
      )
    if (reason !== lastReason) onRetry?.(reason)
    lastReason = reason
    await clock.sleep(retryMs)
  }
}

type ReadOnce = ReturnType<typeof validateClusterInfo> | { readonly type: 'failed'; readonly reason: string }

async function readOnce(client: Client, token: DiscoverClusterOptions['token']): Promise<ReadOnce> {
  try {
    return validateClusterInfo((await client.get(configMaps, clusterInfoKey)).data, token)
  } catch (error) {
    if (isApiError(error, 'NotFound') || isApiError(error, 'Forbidden')) {
      const reason =
        'the cluster has no public ConfigMap cluster-info; run k8ts init phase bootstrap-token there'
      return { type: 'failed', reason }
    }
    if (isApiError(error) || error instanceof TransportError)
      return { type: 'failed', reason: describe(error) }
    throw error
  }
}

function describe(error: unknown): string {
  return `failed to request the cluster-info ConfigMap: ${messageOf(error)}`
}

function clusterInfoClient({ platform, connect, endpoint }: DiscoverClusterOptions, ca: string | undefined) {
  const trust = ca === undefined ? { insecureSkipVerify: true } : { ca }
  const server = { url: `https://${endpoint}`, ...trust }
  const transport = new HttpTransport({ platform, connect, server, credentials: anonymous })
  const client = clientOf({ platform, transport, userAgent: 'k8ts' })
  return { client, [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose]() }
}
