/** An API server for tests: memory store, no sockets, and the platform chosen by the test. */
import type { TestContext } from 'node:test'
import type { Status } from '#/api/errors.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { nodePlatform } from '#/platform/node.ts'
import type { Platform } from '#/platform/platform.ts'
import { MemoryStore } from '#/store/memory.ts'
import { ApiServer } from './api-server.ts'
import type { ApiServerOptions } from './api-server-options.ts'
import type { ApiResponse, UserInfo } from './request.ts'

export interface TestServer {
  readonly server: ApiServer
  /** `body` is an object. */
  readonly request: (
    method: string,
    url: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>
  /** Sends requests as another user than the administrator. */
  readonly as: (user: UserInfo) => TestServer['request']
  /** The raw response, for streams. */
  readonly raw: (method: string, url: string, options?: RawOptions) => Promise<ApiResponse>
  /** Reads watch events until `count` have arrived. */
  readonly watch: (url: string, count: number) => Promise<readonly WatchEvent[]>
}

export interface Answer {
  readonly code: number
  // The decoded body, loosely typed for assertions.
  readonly body: AnyObject
  readonly text: string
  readonly headers: ApiResponse['headers']
}

export type AnyObject = Status & Record<string, never> & { readonly [name: string]: AnyObject }

export interface WatchEvent {
  readonly type: string
  readonly object: AnyObject
}

interface RawOptions {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly user?: UserInfo
}

const administrator: UserInfo = {
  username: 'kubernetes-admin',
  groups: ['system:masters', 'system:authenticated'],
}

/** Server options that tests can set. There are no admission plugins by default. */
export type TestServerOptions = Partial<
  Pick<
    ApiServerOptions,
    | 'admission'
    | 'advertise'
    | 'audit'
    | 'authentication'
    | 'connectHttp'
    | 'eventTtlMs'
    | 'history'
    | 'limits'
    | 'memory'
    | 'metrics'
    | 'nodePorts'
    | 'observability'
    | 'passes'
    | 'recordsOrigins'
    | 'reloads'
    | 'startHooks'
    | 'store'
  >
>

export async function startTestServer(
  t: Pick<TestContext, 'after'>,
  given?: Platform,
  options: TestServerOptions = {},
): Promise<TestServer> {
  const platform = given ?? nodePlatform({ log: { level: 'error', format: 'text' } })
  const store = options.store ?? (await MemoryStore.open({ platform }))
  const server = await ApiServer.start({ ...options, platform, store, build: { version: '0.0.0' } })
  t.after(async () => {
    await server.stop()
    await store[Symbol.asyncDispose]()
  })
  const raw: TestServer['raw'] = (method, url, { body, headers = {}, signal, user = administrator } = {}) => {
    const [path = '', query = ''] = url.split('?')
    const bytes = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
    return server.handle({
      method,
      path,
      query: new URLSearchParams(query),
      headers: { 'user-agent': 'test/1.0', ...headers },
      body: { bytes: async () => Buffer.from(bytes) },
      signal: signal ?? new AbortController().signal,
      peer: { address: '127.0.0.1', user },
    })
  }
  const as =
    (user: UserInfo): TestServer['request'] =>
    (method, url, body, headers) =>
      answer((...rest) => raw(rest[0], rest[1], { ...rest[2], user }), method, url, body, headers)
  return { server, raw, as, request: as(administrator), watch: (url, count) => readWatch(raw, url, count) }
}

async function answer(
  raw: TestServer['raw'],
  method: string,
  url: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
): Promise<Answer> {
  const response = await raw(method, url, { body, ...(headers && { headers }) })
  const bytes = response.body?.type === 'value' ? Buffer.concat(response.body.bytes()) : Buffer.alloc(0)
  const text = bytes.toString()
  return { code: response.status, text, body: parse(text) as AnyObject, headers: response.headers }
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return null
  }
}

async function readWatch(raw: TestServer['raw'], url: string, count: number): Promise<readonly WatchEvent[]> {
  const controller = new AbortController()
  const response = await raw('GET', url, { signal: controller.signal })
  const events: WatchEvent[] = []
  if (response.body?.type !== 'stream') return events
  for await (const chunks of response.body.chunks) {
    for (const chunk of chunks) events.push(JSON.parse(Buffer.from(chunk.bytes()).toString()) as WatchEvent)
    if (events.length >= count) break
  }
  controller.abort()
  return events
}

/** A member of an object, whatever its declared type. */
export function part(object: AnyObject, name: string): AnyObject {
  return (object as Readonly<Record<string, unknown>>)[name] as AnyObject
}
