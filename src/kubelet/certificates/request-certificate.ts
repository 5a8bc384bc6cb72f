/**
 * Requests a certificate from the cluster with a CertificateSigningRequest, and waits until it is approved and issued.
 * The name of the request is a hash of key and contents, so that a restarted kubelet continues with its request.
 * https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
 */
import { createPrivateKey, createPublicKey, hash } from 'node:crypto'
import { conditionOf } from '#/api/conditions.ts'
import { isApiError } from '#/api/errors.ts'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { LinkedAbort } from '#/base/abort.ts'
import type { Client } from '#/client/client.ts'
import type { Clock, Log } from '#/platform/platform.ts'

export interface CertificateTemplate {
  readonly signerName: string
  readonly usages: readonly string[]
  readonly subject: { readonly commonName: string; readonly organizations: readonly string[] }
  /** DNS names and IP addresses. */
  readonly names: readonly string[]
}

export interface CertificateRequestOptions {
  readonly clock: Clock
  readonly log: Log
  readonly client: Client
  readonly crypto: Crypto
  /** PEM; it is not sent. */
  readonly key: string
  readonly template: CertificateTemplate
}

/**
 * Resolves to PEM. Rejects when the request is denied, failed or deleted, and with errors of the API; it can be
 * repeated with the same key.
 */
export async function requestCertificate(
  options: CertificateRequestOptions,
  signal: AbortSignal,
): Promise<string> {
  const name = nameOfRequest(options)
  const request = await ensureRequest(options, name, signal)
  const issued = certificateIn(request)
  if (issued !== undefined) return issued
  using waiting = new LinkedAbort(signal)
  void remindOfApproval(options, name, waiting.signal)
  try {
    return await waitForCertificate(options, name, signal)
  } finally {
    waiting.abort(undefined)
  }
}

/** An automatic approval takes seconds. */
const reminderMs = 30_000

/** Not every controller manager approves the requests of service proxies, and of serving certificates. */
async function remindOfApproval(
  { clock, log, template: { signerName } }: CertificateRequestOptions,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  await clock.sleep(reminderMs, signal).catch(() => undefined)
  if (signal.aborted) return
  const remedy = `kubectl certificate approve ${name}`
  const fields = { name, signerName, remedy }
  log.warn('Certificate signing request has not been issued yet, it may need approval', fields)
}

async function ensureRequest(
  { client, crypto, key, template }: CertificateRequestOptions,
  name: string,
  signal: AbortSignal,
): Promise<Stored<CertificateSigningRequest>> {
  const existing = await client.find(certificateSigningRequests, { name }, { signal })
  if (existing !== undefined) return existing
  const { encodeCertificateRequest } = await import('./encode-certificate-request.ts')
  const request = Buffer.from(await encodeCertificateRequest(crypto, key, template)).toString('base64')
  const { signerName, usages } = template
  const object = { metadata: { name }, spec: { request, signerName, usages: [...usages] } }
  try {
    return await client.create(certificateSigningRequests, object, { signal })
  } catch (error) {
    // The response to an earlier attempt may have been lost.
    if (!isApiError(error, 'AlreadyExists')) throw error
    return client.get(certificateSigningRequests, { name }, { signal })
  }
}

/** Includes all that the certificate depends on. No separator occurs in the parts. */
function nameOfRequest({ key, template }: CertificateRequestOptions): string {
  const { signerName, usages, subject, names } = template
  const publicKey = createPublicKey(createPrivateKey(key)).export({ type: 'spki', format: 'pem' })
  const contents = [publicKey, signerName, usages, subject.commonName, subject.organizations, names]
  return `node-csr-${hash('sha256', JSON.stringify(contents), 'base64url')}`
}

/** Prevents a busy loop if the server ends each watch at once. */
const watchAgainMs = 1_000

/** A watch without a bookmark for this long may be dead. */
const watchIdleTimeoutMs = 150_000

async function waitForCertificate(
  { client, clock }: CertificateRequestOptions,
  name: string,
  signal: AbortSignal,
): Promise<string> {
  const fieldSelector = `metadata.name=${name}`
  for (;;) {
    const { items, metadata } = await client.list(certificateSigningRequests, { fieldSelector, signal })
    const [request] = items
    if (request === undefined) throw new Error(`CertificateSigningRequest ${name} was deleted`)
    const certificate = certificateIn(request)
    if (certificate !== undefined) return certificate
    const events = client.watch(certificateSigningRequests, {
      fieldSelector,
      signal,
      ...(metadata.resourceVersion !== undefined && { resourceVersion: metadata.resourceVersion }),
      allowWatchBookmarks: true,
      idleTimeoutMs: watchIdleTimeoutMs,
    })
    for await (const event of events) {
      if (event.type === 'BOOKMARK') continue
      if (event.type === 'DELETED') throw new Error(`CertificateSigningRequest ${name} was deleted`)
      const issued = certificateIn(event.object)
      if (issued !== undefined) return issued
    }
    await clock.sleep(watchAgainMs, signal)
  }
}

/** PEM; undefined if it is not issued yet. Throws when it never will be. */
function certificateIn({
  metadata: { name },
  status,
}: Stored<CertificateSigningRequest>): string | undefined {
  for (const type of ['Denied', 'Failed']) {
    const condition = conditionOf(status?.conditions, type)
    if (condition === undefined) continue
    const { reason = '', message = '' } = condition
    const what = `CertificateSigningRequest ${name} ${type === 'Denied' ? 'was denied' : 'has failed'}`
    throw new Error(`${what}: ${reason}: ${message}; delete it to request the certificate again`)
  }
  const { certificate = '' } = status ?? {}
  return certificate === '' ? undefined : Buffer.from(certificate, 'base64').toString()
}
