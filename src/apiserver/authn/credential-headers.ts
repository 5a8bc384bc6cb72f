/**
 * Headers that carry credentials, or a proxy's claims about the user. They must not be forwarded to kubelets
 * or other servers.
 */
import type { ApiRequest } from '../request.ts'
import { protocolHeader, tokenProtocolPrefix } from './bearer-token.ts'
import { frontProxyHeaders, type FrontProxyOptions } from './front-proxy.ts'
import { withHeaders, withoutHeaders } from './request-headers.ts'

export class CredentialHeaders {
  readonly #names: ReadonlySet<string>
  readonly #prefixes: readonly string[]

  constructor(frontProxy?: FrontProxyOptions) {
    // Includes the default front-proxy headers even if others are configured, because an upstream server may
    // trust them.
    const known = [frontProxyHeaders(), frontProxyHeaders(frontProxy)]
    const names = known.flatMap(({ username, uid, groups }) => [...username, ...uid, ...groups])
    this.#names = new Set(['authorization', ...names])
    this.#prefixes = [...new Set(known.flatMap(({ extra }) => extra))]
  }

  /** Returns the same request if it has none of these headers. */
  removeFrom(request: ApiRequest): ApiRequest {
    const protocols = request.headers[protocolHeader]
    const plain = withoutHeaders(request, this.#isCredential)
    if (protocols === undefined || !protocols.includes(tokenProtocolPrefix)) return plain
    const kept = protocols
      .split(',')
      .map(each => each.trim())
      .filter(each => !each.startsWith(tokenProtocolPrefix))
    return withHeaders(plain, { ...plain.headers, [protocolHeader]: kept.join(', ') })
  }

  readonly #isCredential = (name: string): boolean => {
    return this.#names.has(name) || this.#prefixes.some(prefix => name.startsWith(prefix))
  }
}
