import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transport, TransportRequest, TransportResponse } from '#/client/transport.ts'
import type { IOStreams } from '#/platform/io-streams.ts'
import type { Clock } from '#/platform/platform.ts'
import { loggingTransport } from './request-log.ts'

const server = 'https://10.0.0.1:6443/'

/** Performs a request and reads the body of the response. Returns what is logged, without times. */
async function logOf(
  level: number,
  request: Partial<TransportRequest> = {},
  response: unknown = { kind: 'Pod' },
): Promise<string> {
  let logged = ''
  const streams = { stderr: { write: (text: string) => void (logged += text) } } as unknown as IOStreams
  const clock = { now: () => Date.UTC(2026, 0, 2, 3, 4, 5), monotonicMs: () => 0 } as unknown as Clock
  const answer: TransportResponse = {
    status: 200,
    headers: { 'content-type': 'application/json', 'set-cookie': 'session=cookie-secret' },
    value: async () => response,
    events: async function* () {},
    bytes: async function* () {
      yield Buffer.from('first line\n')
      yield Buffer.from('second line')
    },
    discard: () => {},
  }
  const transport: Transport = { request: async () => answer }
  const path = '/api/v1/namespaces/a/pods/b'
  const given = { method: 'GET', path, query: new URLSearchParams(), headers: {}, ...request }
  const logging = loggingTransport({ transport, server, level, clock, streams })
  const received = await logging.request(given as TransportRequest)
  if (request.path?.endsWith('/log')) for await (const _piece of received.bytes());
  else assert.deepEqual(await received.value(), response)
  return logged.replaceAll(/^I0102 03:04:05\.000000 kubectl\] /gm, '')
}

const url = 'https://10.0.0.1:6443/api/v1/namespaces/a/pods/b'

test('level 6 logs requests with their status', async () => {
  const query = new URLSearchParams({ limit: '5' })
  assert.equal(
    await logOf(6, { query }),
    `"Response" verb="GET" url="${url}?limit=5" status="200 OK" milliseconds=0\n`,
  )
})

test('level 7 logs headers, too', async () => {
  assert.equal(
    await logOf(7, { headers: { 'accept': 'application/json', 'user-agent': 'x' } }),
    `"Request" verb="GET" url="${url}" headers=<\n\tAccept: application/json\n\tUser-Agent: x\n >\n` +
      '"Response" status="200 OK" milliseconds=0\n',
  )
})

test('level 8 logs bodies, of which it shows the first part, and level 9 whole bodies', async () => {
  const long = { kind: 'Pod', note: 'x'.repeat(2_000) }
  assert.match(await logOf(8), /"Request Body" body=""\n.*"Response Body" body="{\\"kind\\":\\"Pod\\"}"\n$/s)
  assert.match(await logOf(8, {}, long), /x \[truncated \d+ chars\]"\n$/)
  assert.match(await logOf(9, {}, long), /x{2000}\\"}"\n$/)
  const body = { mediaType: 'application/json', value: { a: 1 } }
  assert.match(await logOf(8, { method: 'POST', body }), /^"Request Body" body="{\\"a\\":1}"\n/)
  const log = await logOf(8, { path: '/api/v1/namespaces/a/pods/b/log' })
  assert.match(log, /"Response Body" body=<\n\tfirst line\n\tsecond line\n >\n$/)
})

test('no level logs credentials', async () => {
  const secret = 'top-secret'
  const headers = {
    'authorization': `Bearer ${secret}`,
    'proxy-authorization': secret,
    'cookie': secret,
    'accept': 'application/json',
  }
  const body = { mediaType: 'application/json', value: { data: { password: secret } } }
  for (const path of [
    '/api/v1/namespaces/a/secrets',
    '/api/v1/secrets',
    '/api/v1/namespaces/a/secrets/b',
    '/api/v1/namespaces/a/serviceaccounts/b/token',
    '/apis/authentication.k8s.io/v1/tokenreviews',
  ]) {
    for (const level of [6, 7, 8, 9, 10]) {
      const log = await logOf(level, { method: 'POST', path, headers, body }, { data: { password: secret } })
      assert.doesNotMatch(log, /secret"|top-|cookie-secret/, `${path} at level ${level}`)
      assert.match(log, new RegExp(`url="https://10.0.0.1:6443${path}"`))
    }
  }
})
