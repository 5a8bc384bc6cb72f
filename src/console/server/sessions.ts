import { hash, timingSafeEqual } from 'node:crypto'
import { LruMap } from '#/base/lru-map.ts'
import { TokenBucket } from '#/base/token-bucket.ts'
import type { Platform } from '#/platform/platform.ts'

export interface Session {
  /** Aborted when the session ends, with everything that is streamed to it. */
  readonly signal: AbortSignal
}

interface OpenSession extends Session {
  readonly ended: AbortController
  /** Monotonic. */
  usedMs: number
}

const tokenBytes = 32
const linkValidMs = 10 * 60_000
const idleMaxMs = 12 * 3_600_000
/** Above each of them, the least recent one ends. */
const linksMax = 32
const sessionsMax = 32
/** Guessing a token is hopeless at any rate; this bounds the work of a client that tries. */
const attempts = { burst: 20, perSecond: 1 }

/** Sessions and the one-time tokens that begin them. Tokens are found by their hash, so that timing reveals nothing. */
export class Sessions {
  readonly #platform: Pick<Platform, 'clock' | 'random'>
  /** Monotonic times at which the tokens of links expire, by hash. */
  readonly #links = new LruMap<string, number>(linksMax)
  /** By hash of the token; least recently used first. */
  readonly #sessions = new Map<string, OpenSession>()
  readonly #attempts: TokenBucket
  /** With it, other programs of the user get link tokens. */
  readonly linkKey: string

  constructor(platform: Pick<Platform, 'clock' | 'random'>) {
    this.#platform = platform
    this.linkKey = this.#newToken()
    this.#attempts = new TokenBucket(attempts, platform.clock.monotonicMs())
  }

  issueLinkToken(): string {
    const token = this.#newToken()
    this.#links.set(digest(token), this.#nowMs + linkValidMs)
    return token
  }

  /** True for the link key, and for the token of a session. */
  mayIssueLinks(token: string): boolean {
    return timingSafeEqual(sha256(token), sha256(this.linkKey)) || this.find(token) !== undefined
  }

  /** True if a link may be redeemed now; counts the attempt. */
  admitAttempt(): boolean {
    return this.#attempts.take(this.#nowMs)
  }

  /** Begins a session and returns its token. Undefined if the token of the link is used, expired or unknown. */
  redeem(linkToken: string): string | undefined {
    const key = digest(linkToken)
    const expiresMs = this.#links.get(key)
    this.#links.delete(key)
    if (expiresMs === undefined || expiresMs <= this.#nowMs) return undefined
    const token = this.#newToken()
    const ended = new AbortController()
    this.#sessions.set(digest(token), { ended, signal: ended.signal, usedMs: this.#nowMs })
    for (const [key, { usedMs }] of this.#sessions) {
      if (this.#isIdle(usedMs) || this.#sessions.size > sessionsMax) this.#end(key)
    }
    return token
  }

  /** The session of a token, which is used now. */
  find(token: string): Session | undefined {
    const key = digest(token)
    const session = this.#sessions.get(key)
    if (session === undefined) return undefined
    if (this.#isIdle(session.usedMs)) {
      this.#end(key)
      return undefined
    }
    session.usedMs = this.#nowMs
    this.#sessions.delete(key)
    this.#sessions.set(key, session)
    return session
  }

  end(token: string): void {
    this.#end(digest(token))
  }

  endAll(): void {
    for (const key of this.#sessions.keys()) this.#end(key)
  }

  #end(key: string): void {
    this.#sessions.get(key)?.ended.abort(new Error('the session has ended'))
    this.#sessions.delete(key)
  }

  #isIdle(usedMs: number): boolean {
    return this.#nowMs - usedMs >= idleMaxMs
  }

  get #nowMs(): number {
    return this.#platform.clock.monotonicMs()
  }

  #newToken(): string {
    return Buffer.from(this.#platform.random.bytes('console-token', tokenBytes)).toString('base64url')
  }
}

function digest(token: string): string {
  return sha256(token).toString('base64url')
}

function sha256(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
