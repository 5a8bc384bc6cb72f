/**
 * Headers by which senders prove, or proxies say, who they are. They must not travel further: to nodes, to
 * other servers.
 */
import type { ApiRequest } from '../request.ts'
import { protocolHeader, tokenProtocolPrefix } from './bearer-token.ts'
import { frontProxyHeaders, type FrontProxyOptions } from './front-proxy.ts'
import { withHeaders, withoutHeaders } from './request-headers.ts'

export class CredentialHeaders {
  readonly #names: ReadonlySet<string>
  readonly #prefixes: readonly string[]

  constructor(frontProxy?: FrontProxyOptions) {
    // The usual ones too, even when a proxy uses others, or there is none: somebody else may believe them.
    const known = [frontProxyHeaders(), frontProxyHeaders(frontProxy)]
    const names = known.flatMap(({ username, uid, groups }) => [...username, ...uid, ...groups])
    this.#names = new Set(['authorization', ...names])
    this.#prefixes = [...new Set(known.flatMap(({ extra }) => extra))]
  }

  /** The very same request when it has none. */
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
