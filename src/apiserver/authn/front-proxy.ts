/**
 * Authenticates users by the headers of a front proxy, which proves its identity with a client certificate.
 */
import type { X509Certificate } from 'node:crypto'
import type { ApiRequest, Peer } from '../request.ts'
import type { AuthenticationResult, RequestAuthenticator } from './authenticator.ts'
import { isSignedBy, readCertificates } from './certificate-chain.ts'
import { headersBelow, headerValues } from './request-headers.ts'

export interface FrontProxyOptions {
  /** PEM of the CAs of proxy certificates. */
  readonly authorities: string
  /** Allowed common names of proxy certificates; any when empty. */
  readonly allowedNames: readonly string[]
  /** Case-insensitive; defaults to `X-Remote-User` etc. The first header with a value is used. */
  readonly usernameHeaders?: readonly string[]
  readonly uidHeaders?: readonly string[]
  /** The values of all of these headers are used. */
  readonly groupHeaders?: readonly string[]
  readonly extraHeaderPrefixes?: readonly string[]
}

export class FrontProxy implements RequestAuthenticator {
  readonly #authorities: readonly X509Certificate[]
  readonly #allowedNames: ReadonlySet<string>
  readonly #headers: FrontProxyHeaders
  readonly #trusted = new WeakMap<NonNullable<Peer['certificate']>, boolean>()

  /** Throws if the authorities cannot be parsed. */
  constructor(options: FrontProxyOptions) {
    this.#authorities = readCertificates(options.authorities)
    this.#allowedNames = new Set(options.allowedNames)
    this.#headers = frontProxyHeaders(options)
  }

  authenticate(request: ApiRequest): AuthenticationResult {
    const {
      peer: { certificate },
    } = request
    const { username, uid, groups, extra } = this.#headers
    if (certificate === undefined) return undefined
    const name = firstValue(request, username)
    // Without a user header, or if the client is not a proxy, the client certificate authenticator applies.
    if (name === '' || !this.#isProxy(certificate)) return undefined
    if (this.#allowedNames.size > 0 && !this.#allowedNames.has(certificate.commonName)) {
      return { failure: 'front proxy certificate common name is not in the allowed list' }
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
      trusted = isSignedBy(certificate.chain ?? [], this.#authorities)
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
  for (const header of headers) {
    const [value = ''] = headerValues(request, header)
    if (value !== '') return value
  }
  return ''
}

/** Merges values of the same key from several prefixes. */
function collect(
  entries: readonly (readonly [string, readonly string[]])[],
): Record<string, readonly string[]> {
  const collected = new Map<string, readonly string[]>()
  for (const [key, values] of entries) collected.set(key, [...(collected.get(key) ?? []), ...values])
  return Object.fromEntries(collected)
}
