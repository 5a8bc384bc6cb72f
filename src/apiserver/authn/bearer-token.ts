/** Bearer tokens: extraction from requests and authentication. */
import { hash } from 'node:crypto'
import type { ApiRequest } from '../request.ts'
import {
  firstSuccess,
  type Awaitable,
  type AuthenticationResult,
  type RequestAuthenticator,
  type TokenAuthenticator,
} from './authenticator.ts'

export class BearerToken {
  readonly text: string
  #digest: string | undefined

  constructor(text: string) {
    this.text = text
  }

  /** Cache key; caches must not hold the token itself. */
  get digest(): string {
    this.#digest ??= hash('sha256', this.text, 'base64url')
    return this.#digest
  }
}

export interface BearerTokensOptions {
  readonly authenticators: readonly TokenAuthenticator[]
  /** Audiences that identify this server in tokens. */
  readonly audiences: readonly string[]
}

export class BearerTokens implements RequestAuthenticator {
  readonly #authenticators: readonly TokenAuthenticator[]
  readonly #audiences: readonly string[]

  constructor({ authenticators, audiences }: BearerTokensOptions) {
    this.#authenticators = authenticators
    this.#audiences = audiences
  }

  authenticate(request: ApiRequest): Awaitable<AuthenticationResult> {
    const found = tokenIn(request)
    return found instanceof BearerToken ? this.authenticateToken(found, this.#audiences) : found
  }

  /** Never undefined: a token that no authenticator recognizes is invalid. */
  authenticateToken(
    token: BearerToken,
    audiences: readonly string[],
  ): Awaitable<NonNullable<AuthenticationResult>> {
    const result = firstSuccess(this.#authenticators, each => each.authenticate(token, audiences))
    return result instanceof Promise ? result.then(settled => settled ?? unknown) : (result ?? unknown)
  }
}

const unknown = { failure: 'invalid bearer token' }

function tokenIn({ headers }: ApiRequest): BearerToken | AuthenticationResult {
  const authorization = headers['authorization']?.trim()
  const [scheme = '', text = ''] = authorization?.split(' ', 2) ?? []
  if (text !== '' && scheme.toLowerCase() === 'bearer') return new BearerToken(text)
  return isWebSocket(headers) ? tokenInProtocols(headers[protocolHeader]) : undefined
}

export const protocolHeader = 'sec-websocket-protocol'

/**
 * Browsers cannot set the Authorization header on WebSocket requests, so the token is sent as a subprotocol.
 */
export const tokenProtocolPrefix = 'base64url.bearer.authorization.k8s.io.'

function isWebSocket({ connection = '', upgrade = '' }: ApiRequest['headers']): boolean {
  return upgrade.toLowerCase() === 'websocket' && /(?:^|[ ,])upgrade(?:$|[ ,])/i.test(connection)
}

function tokenInProtocols(header = ''): BearerToken | AuthenticationResult {
  const protocols = header.split(',').map(protocol => protocol.trim())
  const [encoded, another] = protocols.filter(protocol => protocol.startsWith(tokenProtocolPrefix))
  if (encoded === undefined) return undefined
  if (another !== undefined) return { failure: 'multiple base64.bearer.authorization tokens specified' }
  const code = encoded.slice(tokenProtocolPrefix.length)
  const bytes = Buffer.from(code, 'base64url')
  if (bytes.toString('base64url') !== code) {
    return { failure: 'invalid base64.bearer.authorization token encoding' }
  }
  const text = bytes.toString()
  if (Buffer.compare(Buffer.from(text), bytes) !== 0) {
    return { failure: 'invalid base64.bearer.authorization token' }
  }
  if (text === '') return undefined
  // The server must select a subprotocol for its response, and the token must not be selected.
  return protocols.length === 1 ? { failure: 'missing additional subprotocol' } : new BearerToken(text)
}
