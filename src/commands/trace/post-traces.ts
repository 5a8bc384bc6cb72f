import { UsageError } from '#/base/flags.ts'
import { readAll } from '#/base/read-all.ts'
import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import { connectHttp } from '#/platform/node.ts'
import type { OtlpTraces } from '#/trace/otlp.ts'

/** The path of OTLP over HTTP is added to a URL without one. */
export function tracesUrl(text: string): URL {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(`--otlp ${text}: must be an http or https URL`)
  }
  if (url.pathname === '/') url.pathname = '/v1/traces'
  return url
}

/** Sends spans to a collector: https://opentelemetry.io/docs/specs/otlp/#otlphttp */
export async function postTraces(url: URL, traces: OtlpTraces): Promise<void> {
  await using client = connectHttp({ origin: url.origin, connectTimeoutMs: 10_000 })
  const { status, body } = await client.request({
    method: 'POST',
    path: `${url.pathname}${url.search}`,
    headers: { 'content-type': 'application/json', 'user-agent': 'k8ts-trace', ...authorizationOf(url) },
    body: Buffer.from(JSON.stringify(traces)),
    signal: AbortSignal.timeout(timeoutMs),
  })
  const text = (await readAll(body, answerBytesMax)).toString().trim()
  if (status < 200 || status > 299) {
    throw new Error(
      `the collector answered ${status}: ${escapeControlCharacters(text.slice(0, answerShown))}`,
    )
  }
}

const timeoutMs = 30_000
const answerBytesMax = 1_048_576
const answerShown = 200

/** Basic authentication of a URL with a user. */
function authorizationOf({ username, password }: URL): Readonly<Record<string, string>> {
  if (username === '' && password === '') return {}
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { authorization: `Basic ${Buffer.from(user).toString('base64')}` }
}
