/** An API server with token authentication and a clock that tests advance. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { MemoryStore } from '#/store/memory.ts'
import { ApiServer } from '../../api-server.ts'
import type { AuthenticationSettings } from '../../authn.ts'
import type { Answer, AnyObject } from '../../test-server.ts'
import type { ApiRequest, Peer, UserInfo } from '../../request.ts'

export interface TokenServer {
  readonly server: ApiServer
  readonly platform: Platform
  /** Sent as administrator unless a header or peer is given. */
  readonly request: (method: string, url: string, options?: RequestOptions) => Promise<Answer>
  /** The user of a token, or the reason for the rejection. */
  readonly whoHas: (token: string, audiences?: readonly string[]) => Promise<UserInfo | string>
  readonly advance: (milliseconds: number) => void
}

export interface RequestOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly peer?: Partial<Peer>
}

export const issuerUrl = 'https://kubernetes.default.svc.cluster.local'

export const signingKey = toPem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey)

export function toPem(privateKey: KeyObject): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}

const administrator: UserInfo = {
  username: 'kubernetes-admin',
  groups: ['system:masters', 'system:authenticated'],
}

export async function startTokenServer(
  t: Pick<TestContext, 'after'>,
  settings: AuthenticationSettings = {},
): Promise<TokenServer> {
  const machine = nodePlatform({ log: { level: 'error', format: 'text' } })
  let aheadMs = 0
  const platform = { ...machine, clock: { ...machine.clock, now: () => machine.clock.now() + aheadMs } }
  const store = await MemoryStore.open({ platform })
  const authentication = {
    serviceAccounts: { url: issuerUrl, signingKey },
    bootstrapTokens: true,
    ...settings,
  }
  const server = await ApiServer.start({ platform, store, build: { version: '0.0.0' }, authentication })
  t.after(async () => {
    await server.stop()
    await store[Symbol.asyncDispose]()
  })
  return {
    server,
    platform,
    request: async (method, url, options = {}) => {
      const { status, headers, body } = await server.handle(apiRequest(method, url, options))
      const text = body?.type === 'value' ? Buffer.concat(body.bytes()).toString() : ''
      return {
        code: status,
        text,
        headers,
        body: (text.startsWith('{') ? JSON.parse(text) : {}) as AnyObject,
      }
    },
    whoHas: async (token, audiences = server.authentication.audiences) => {
      const result = await server.authentication.reviewToken(token, audiences)
      return 'user' in result ? result.user : result.failure
    },
    advance: milliseconds => {
      aheadMs += milliseconds
    },
  }
}

export function apiRequest(
  method: string,
  url: string,
  { body, headers = {}, peer }: RequestOptions = {},
): ApiRequest {
  const [path = '', query = ''] = url.split('?')
  const bytes = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  return {
    method,
    path,
    query: new URLSearchParams(query),
    headers: { 'user-agent': 'test/1.0', ...headers },
    body: { bytes: async () => Buffer.from(bytes) },
    signal: new AbortController().signal,
    peer: { address: '192.0.2.1', ...(peer ?? { user: administrator }) },
  }
}
