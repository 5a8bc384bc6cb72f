/**
 * Keeps a certificate of a node valid, by CertificateSigningRequests: the client certificate with which its kubelet
 * authenticates to the API server, that of its service proxy, or the serving certificate of the kubelet's server.
 * A certificate is replaced at a
 * random time between 70 and 90 % of its lifetime, also when the clock jumps, and when the node's names change. All
 * state is on disk and in the API, so that a killed kubelet continues with the same key and request.
 * https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/
 */
import { createPrivateKey } from 'node:crypto'
import { LinkedAbort } from '#/base/abort.ts'
import { exportPrivateKey, generateKeys } from '#/base/elliptic-keys.ts'
import { parseIp } from '#/api/net/ip.ts'
import type { Client } from '#/client/client.ts'
import { renewCertificates } from '#/component-base/renew-certificates.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { CertificateStore, isPair, type KeyAndCertificate } from './certificates/certificate-store.ts'
import { requestCertificate, type CertificateTemplate } from './certificates/request-certificate.ts'
import { rotationReason, validityProblem } from './certificates/rotation-reason.ts'

export type { KeyAndCertificate } from './certificates/certificate-store.ts'

export interface CertificateRotationOptions {
  readonly platform: Platform
  readonly linux: Pick<Linux, 'files'>
  readonly crypto: Crypto
  /** Folder of the PEM files; created when missing. */
  readonly folder: string
  readonly nodeName: string
  /** Opens a client for one request. `hasCertificate` is false if the node has no valid certificate. */
  readonly openClient: (hasCertificate: boolean) => Promise<RequestClient>
}

export interface RequestClient extends AsyncDisposable {
  readonly client: Client
}

interface Purpose {
  /** Prefix of the files. */
  readonly name: string
  readonly signerName: string
  readonly usages: readonly string[]
  readonly subject: CertificateTemplate['subject']
  /** Current DNS names and IP addresses. */
  readonly names: () => readonly string[]
}

export interface RotationListener {
  /** The certificate in use, returned by `ensure`. */
  readonly current: KeyAndCertificate
  readonly onRotated: (next: KeyAndCertificate) => void | Promise<void>
  readonly onFailure?: (error: unknown) => void
}

export const requestRetry = { initialMs: 2_000, maxMs: 300_000, factor: 2, jitter: 0.1 }

/** Interval in which a change of the names is noticed while a request is pending. */
const namesCheckMs = 10_000

export class CertificateRotation {
  readonly store: CertificateStore
  readonly #options: CertificateRotationOptions
  readonly #purpose: Purpose
  /** Position of the rotation deadline between its limits, drawn once for each certificate. */
  #drawn: { readonly cert: string; readonly fraction: number } | undefined

  private constructor(options: CertificateRotationOptions, purpose: Purpose) {
    const { platform, linux, folder } = options
    this.store = new CertificateStore({ platform, linux, folder, name: purpose.name })
    this.#options = options
    this.#purpose = purpose
  }

  /** Of the certificate that authenticates the kubelet to the API server. */
  static client(options: CertificateRotationOptions): CertificateRotation {
    return new CertificateRotation(options, {
      name: 'kubelet-client',
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
      subject: nodeSubject(options.nodeName),
      names: () => [],
    })
  }

  /** Of the certificate of the node's service proxy. The client of its requests has the identity of the node. */
  static proxyClient(options: CertificateRotationOptions): CertificateRotation {
    return new CertificateRotation(options, {
      name: 'kube-proxy-client',
      signerName: 'kubernetes.io/kube-apiserver-client',
      usages: ['digital signature', 'client auth'],
      subject: { commonName: 'system:kube-proxy', organizations: [] },
      names: () => [],
    })
  }

  /** Of the certificate of the kubelet's server. `names` are the host names and addresses in the node's status. */
  static serving(
    options: CertificateRotationOptions & { readonly names: () => readonly string[] },
  ): CertificateRotation {
    return new CertificateRotation(options, {
      name: 'kubelet-server',
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
      subject: nodeSubject(options.nodeName),
      names: () => [...new Set(options.names())].sort(),
    })
  }

  /**
   * Returns the current certificate, or requests another one if it is not valid or its rotation deadline has passed.
   * Rejects when the request is denied or fails; the next call continues with it.
   */
  async ensure(signal: AbortSignal): Promise<KeyAndCertificate> {
    const template = this.#template()
    const current = await this.store.current()
    const reason = this.#rotationReason(current, template)
    if (current !== undefined && reason === undefined) return current
    const { signerName, names } = template
    if (signerName === 'kubernetes.io/kubelet-serving' && !names.some(name => parseIp(name) !== undefined)) {
      throw new Error('cannot request a serving certificate: the node has no IP address')
    }
    const key = await this.#keyOfRequest(current)
    this.#options.platform.log.info('Rotating certificates', { signerName, reason })
    const cert = await this.#request(
      { key, template, hasCertificate: this.#canAuthenticate(current) },
      signal,
    )
    const next = { cert, key }
    const problem = isPair(next) ? this.#rotationReason(next, template) : 'its key does not match'
    if (problem !== undefined) {
      // With another key the next attempt makes another request.
      await this.store.removePendingKey()
      const advice = 'compare the clocks of the node and of the control plane'
      throw new Error(`cannot use the issued certificate: ${problem}; ${advice}`)
    }
    await this.store.update(next)
    await this.store.removePendingKey()
    return next
  }

  /** Resolves when aborted. Failures are retried with backoff. */
  run({ current, onRotated, onFailure }: RotationListener, signal: AbortSignal): Promise<void> {
    return renewCertificates(
      {
        platform: this.#options.platform,
        current,
        ensure: ensuring => this.ensure(ensuring),
        onRenewed: onRotated,
        ...(onFailure && { onFailure }),
        isDue: each => this.#rotationReason(each, this.#template()) !== undefined,
        retry: requestRetry,
      },
      signal,
    )
  }

  #template(): CertificateTemplate {
    const { signerName, usages, subject, names } = this.#purpose
    return { signerName, usages, subject, names: names() }
  }

  #rotationReason(pair: KeyAndCertificate | undefined, template: CertificateTemplate): string | undefined {
    const nowMs = this.#options.platform.clock.now()
    return rotationReason(pair?.cert, template, { nowMs, fraction: pair ? this.#fractionOf(pair) : 0 })
  }

  #fractionOf({ cert }: KeyAndCertificate): number {
    if (this.#drawn?.cert !== cert) {
      this.#drawn = { cert, fraction: this.#options.platform.random.fraction('certificate-rotation') }
    }
    return this.#drawn.fraction
  }

  /** The key of an interrupted request; otherwise a new one, which is written before the request is sent. */
  async #keyOfRequest(current: KeyAndCertificate | undefined): Promise<string> {
    const pending = await this.store.pendingKey()
    // A crash after the rotation leaves the key of the current certificate.
    if (pending !== undefined && isPrivateKey(pending) && pending.trim() !== current?.key.trim())
      return pending
    const { crypto } = this.#options
    const key = await exportPrivateKey(crypto, (await generateKeys(crypto)).privateKey)
    await this.store.setPendingKey(key)
    return key
  }

  #canAuthenticate(current: KeyAndCertificate | undefined): boolean {
    if (this.#purpose.name !== 'kubelet-client') return true
    if (current === undefined) return false
    const { subject } = this.#template()
    return validityProblem(current.cert, subject, this.#options.platform.clock.now()) === undefined
  }

  async #request({ key, template, hasCertificate }: PendingRequest, signal: AbortSignal): Promise<string> {
    const { platform, crypto, openClient } = this.#options
    await using opened = await openClient(hasCertificate)
    using waiting = new LinkedAbort(signal)
    using watching = new LinkedAbort(signal)
    const watched = this.#abortOnChange(template.names, waiting, watching.signal)
    try {
      const { client } = opened
      return await requestCertificate(
        { clock: platform.clock, log: platform.log, client, crypto, key, template },
        waiting.signal,
      )
    } finally {
      watching.abort(undefined)
      await watched
    }
  }

  /** A request for old names is not waited for. */
  async #abortOnChange(names: readonly string[], waiting: LinkedAbort, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#options.platform.clock.sleep(namesCheckMs, signal).catch(() => undefined)
      if (this.#purpose.names().join() === names.join()) continue
      return waiting.abort(new Error('the names of the node have changed'))
    }
  }
}

/** Subject of both certificates of a kubelet. */
export function nodeSubject(nodeName: string): CertificateTemplate['subject'] {
  return { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'] }
}

function isPrivateKey(text: string): boolean {
  try {
    return createPrivateKey(text).type === 'private'
  } catch {
    return false
  }
}

interface PendingRequest {
  readonly key: string
  readonly template: CertificateTemplate
  readonly hasCertificate: boolean
}
