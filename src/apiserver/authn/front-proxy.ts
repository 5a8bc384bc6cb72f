/**
 * Users whom a proxy in front of the server has authenticated: it says who they are in headers, and proves by
 * its own certificate that it may.
 */
import type { X509Certificate } from 'node:crypto'
import type { ApiRequest, Peer } from '../request.ts'
import type { Outcome, RequestAuthenticator } from './authenticator.ts'
import { isVouchedFor, readCertificates } from './certificate-chain.ts'
import { headersBelow, headerValues } from './request-headers.ts'

export interface FrontProxyOptions {
  /** PEM, of those who sign certificates of proxies. */
  readonly authorities: string
  /** Common names that a proxy's certificate may have; any when empty. */
  readonly allowedNames: readonly string[]
  /** Names in any case; `X-Remote-User` and so on when absent. The first header that is there counts. */
  readonly usernameHeaders?: readonly string[]
  readonly uidHeaders?: readonly string[]
  /** All of these count. */
  readonly groupHeaders?: readonly string[]
  readonly extraHeaderPrefixes?: readonly string[]
}

export class FrontProxy implements RequestAuthenticator {
  readonly #authorities: readonly X509Certificate[]
  readonly #allowedNames: ReadonlySet<string>
  readonly #headers: FrontProxyHeaders
  readonly #trusted = new WeakMap<NonNullable<Peer['certificate']>, boolean>()

  /** Throws when the authorities cannot be read. */
  constructor(options: FrontProxyOptions) {
    this.#authorities = readCertificates(options.authorities)
    this.#allowedNames = new Set(options.allowedNames)
    this.#headers = frontProxyHeaders(options)
  }

  authenticate(request: ApiRequest): Outcome {
    const {
      peer: { certificate },
    } = request
    const { username, uid, groups, extra } = this.#headers
    if (certificate === undefined) return undefined
    const name = firstValue(request, username)
    // Who comes for itself is somebody else's to know.
    if (name === '' || !this.#isProxy(certificate)) return undefined
    if (this.#allowedNames.size > 0 && !this.#allowedNames.has(certificate.commonName)) {
      return { refused: 'the certificate of the front proxy has a name that is not in the allowed list' }
    }
    const id = firstValue(request, uid)
    const more = extra.flatMap(prefix => [...headersBelow(request, prefix)])
    return {
      user: {
        username: name,
        ...(id !== '' && { uid: id }),
        groups: groups.flatMap(header => headerValues(request, header)).filter(group => group !== ''),
        ...(more.length > 0 && { extra: collect(more) }),
      },
    }
  }

  #isProxy(certificate: NonNullable<Peer['certificate']>): boolean {
    let trusted = this.#trusted.get(certificate)
    if (trusted === undefined) {
      trusted = isVouchedFor(certificate.chain ?? [], this.#authorities)
      this.#trusted.set(certificate, trusted)
    }
    return trusted
  }
}

interface FrontProxyHeaders {
  readonly username: readonly string[]
  readonly uid: readonly string[]
  readonly groups: readonly string[]
  readonly extra: readonly string[]
}

export function frontProxyHeaders(
  options: Omit<FrontProxyOptions, 'authorities' | 'allowedNames'> = {},
): FrontProxyHeaders {
  const lower = (names: readonly string[]): string[] => names.map(name => name.trim().toLowerCase())
  return {
    username: lower(options.usernameHeaders ?? ['x-remote-user']),
    uid: lower(options.uidHeaders ?? ['x-remote-uid']),
    groups: lower(options.groupHeaders ?? ['x-remote-group']),
    extra: lower(options.extraHeaderPrefixes ?? ['x-remote-extra-']),
  }
}

function firstValue(request: ApiRequest, headers: readonly string[]): string {
  return headers.map(header => headerValues(request, header)[0] ?? '').find(value => value !== '') ?? ''
}

/** A key may come from several prefixes. */
function collect(
  entries: readonly (readonly [string, readonly string[]])[],
): Record<string, readonly string[]> {
  const collected = new Map<string, readonly string[]>()
  for (const [key, values] of entries) collected.set(key, [...(collected.get(key) ?? []), ...values])
  return Object.fromEntries(collected)
}
