/** A fake extender for tests: records requests and returns the given answers. */
import {
  HttpClientError,
  readWholeBody,
  type HttpClientRequest,
  type HttpClientResponse,
  type HttpConnect,
} from '#/platform/http-client.ts'

export interface TestExtender {
  readonly connectHttp: HttpConnect
  /** The received requests. */
  readonly asked: { readonly path: string; readonly body: Readonly<Record<string, unknown>> }[]
}

/**
 * An answer, or a promise of one, is sent as JSON; a number is an HTTP status, undefined a refused
 * connection.
 */
export function testExtender(
  answer: (path: string, body: Readonly<Record<string, unknown>>) => unknown,
): TestExtender {
  const asked: TestExtender['asked'] = []
  const request = async ({ path, body, signal }: HttpClientRequest): Promise<HttpClientResponse> => {
    const read = JSON.parse(Buffer.from(await readWholeBody(body)).toString()) as Record<string, unknown>
    asked.push({ path, body: read })
    const { promise: given, reject } = Promise.withResolvers<never>()
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    const said = await Promise.race([answer(path, read), given])
    if (said === undefined) throw new HttpClientError('unreachable', 'connection refused', { sent: false })
    const bytes = Buffer.from(JSON.stringify(said))
    return {
      status: typeof said === 'number' ? said : 200,
      headers: {},
      body: (async function* () {
        yield bytes
      })(),
      discard: () => undefined,
    }
  }
  return {
    asked,
    connectHttp: () => ({
      request,
      upgrade: () => Promise.reject(new Error('nobody upgrades')),
      close: () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    }),
  }
}
