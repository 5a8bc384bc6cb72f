import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validateRequestOrigin } from './request-origin.ts'

interface Case {
  readonly request?: string
  readonly host?: string
  readonly origin?: string
  /** `Sec-Fetch-Site`, `Sec-Fetch-Mode` and `Sec-Fetch-Dest`. */
  readonly fetch?: string
  readonly port?: number
}

function check(expected: 'accepted' | 'refused', ...cases: readonly Case[]): void {
  for (const each of cases) {
    const { request = 'GET /api-server/api', host = '127.0.0.1:7000', origin, fetch, port = 7000 } = each
    const [method = '', target = ''] = request.split(' ')
    const [site, mode, dest] = fetch?.split(' ') ?? []
    const headers = {
      host,
      origin,
      'sec-fetch-site': site,
      'sec-fetch-mode': mode,
      'sec-fetch-dest': dest,
    }
    const refusal = validateRequestOrigin({ method, target, headers }, port)
    assert.equal(refusal === undefined ? 'accepted' : 'refused', expected, JSON.stringify(each))
  }
}

test('requests are for this machine by its own names and this port', () => {
  check(
    'accepted',
    {},
    { host: 'localhost:7000' },
    { host: 'LocalHost:7000' },
    { host: '[::1]:7000' },
    { host: '127.0.0.1', port: 80 },
  )
  check(
    'refused',
    { host: '' },
    { host: 'evil.example:7000' },
    { host: '127.0.0.1:7001' },
    { host: '127.0.0.1' },
    { host: '127.0.0.1.evil.example:7000' },
    { host: '0.0.0.0:7000' },
  )
})

test('an origin is that of the page', () => {
  check(
    'accepted',
    { origin: 'http://127.0.0.1:7000' },
    { host: 'localhost:7000', origin: 'http://localhost:7000' },
  )
  check(
    'refused',
    { origin: 'http://127.0.0.1:7001' },
    { origin: 'https://127.0.0.1:7000' },
    { origin: 'http://localhost:7000' },
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: '' },
  )
})

test('other sites can only open the page', () => {
  check(
    'accepted',
    { fetch: 'same-origin cors empty' },
    { fetch: 'none navigate document', request: 'GET /' },
    { fetch: 'cross-site navigate document', request: 'GET /' },
    { fetch: 'same-site navigate document', request: 'GET /?from=there' },
  )
  check(
    'refused',
    { fetch: 'cross-site no-cors empty', request: 'GET /' },
    { fetch: 'cross-site navigate iframe', request: 'GET /' },
    { fetch: 'cross-site navigate document', request: 'POST /' },
    { fetch: 'cross-site navigate document', request: 'GET /session' },
    { fetch: 'same-site cors empty', request: 'POST /session' },
    { fetch: 'none navigate document', request: 'POST /session' },
  )
})
