import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RouteFilter } from '#/http-proxy/proxy-configuration.ts'
import { planGateways } from '../plan-gateways.ts'
import { backendRef, gateway, httpRoute, service, worldOf } from '../test-gateways.ts'

type Rule = Exclude<Parameters<typeof httpRoute>[1][number], string>
type Filters = NonNullable<Rule['filters']>

const services = [service('web'), service('copy')]

function planned(filters: Filters, listener = 'a HTTP:80'): readonly RouteFilter[] | undefined {
  const rule: Rule = { matches: [{ path: { value: '/foo' } }], filters }
  const { configuration } = planGateways(
    worldOf({
      gateways: [gateway('gw', [listener])],
      httpRoutes: [httpRoute('r', [rule])],
      services,
      secret: () => undefined,
    }),
  )
  return configuration.listeners[0]?.virtualHosts[0]?.routes[0]?.filters
}

test('header changes keep the first of several equal names', () => {
  const headers = [
    { name: 'X-One', value: '1' },
    { name: 'x-one', value: '2' },
  ]
  const change = { set: headers, add: [{ name: 'A', value: 'b' }], remove: ['C'] }
  const expected = { set: [{ name: 'X-One', value: '1' }], add: [{ name: 'A', value: 'b' }], remove: ['C'] }
  assert.deepEqual(
    planned([
      { type: 'RequestHeaderModifier', requestHeaderModifier: change },
      { type: 'ResponseHeaderModifier', responseHeaderModifier: {} },
    ]),
    [
      { type: 'request-headers', change: expected },
      { type: 'response-headers', change: { set: [], add: [], remove: [] } },
    ],
  )
})

test('a redirect has the scheme and port of the specification, whatever port the proxy listens on', () => {
  type Redirect = NonNullable<Filters[number]['requestRedirect']>
  const cases: readonly (readonly [listener: string, redirect: Redirect, expected: string])[] = [
    ['a HTTP:80', {}, 'http 80'],
    ['a HTTP:8080', {}, 'http 8080'],
    ['a HTTP:8080', { port: 8443 }, 'http 8443'],
    ['a HTTP:8080', { scheme: 'https' }, 'https 443'],
    ['a HTTP:8080', { scheme: 'http' }, 'http 80'],
    ['a HTTP:8080', { scheme: 'https', port: 8443 }, 'https 8443'],
  ]
  for (const [listener, requestRedirect, expected] of cases) {
    const [filter] = planned([{ type: 'RequestRedirect', requestRedirect }], listener) ?? []
    assert.ok(filter?.type === 'redirect')
    assert.equal(
      `${filter.scheme} ${filter.port}`,
      expected,
      `${listener} ${JSON.stringify(requestRedirect)}`,
    )
  }
  const path = { type: 'ReplacePrefixMatch', replacePrefixMatch: '/bar' } as const
  assert.deepEqual(
    planned([{ type: 'RequestRedirect', requestRedirect: { hostname: 'x.com', path, statusCode: 307 } }]),
    [
      {
        type: 'redirect',
        hostname: 'x.com',
        path: { type: 'prefix', value: '/bar' },
        status: 307,
        scheme: 'http',
        port: 80,
      },
    ],
  )
})

test('a rewrite changes the host, the whole path or its prefix', () => {
  const full = { type: 'ReplaceFullPath', replaceFullPath: '/' } as const
  assert.deepEqual(planned([{ type: 'URLRewrite', urlRewrite: { hostname: 'x.com', path: full } }]), [
    { type: 'rewrite', hostname: 'x.com', path: { type: 'full', value: '/' } },
  ])
  const prefix = { type: 'ReplacePrefixMatch', replacePrefixMatch: '' } as const
  assert.deepEqual(planned([{ type: 'URLRewrite', urlRewrite: { path: prefix } }]), [
    { type: 'rewrite', path: { type: 'prefix', value: '' } },
  ])
})

test('several mirrors get their share of the requests; one without a backend is dropped', () => {
  const mirror = (to: string, share: object = {}): Filters[number] => {
    return { type: 'RequestMirror', requestMirror: { backendRef: backendRef(to), ...share } }
  }
  const backend = 'gateway/default/copy:80/http1'
  assert.deepEqual(
    planned([
      mirror('copy:80'),
      mirror('copy:80', { percent: 20 }),
      mirror('copy:80', { fraction: { numerator: 1, denominator: 200 } }),
      mirror('copy:80', { fraction: { numerator: 50 } }),
      mirror('none:80'),
    ]),
    [100, 20, 0.5, 50].map(percent => ({ type: 'mirror', backend, percent })),
  )
})

test('a filter of unknown effect is not skipped: requests get 500', () => {
  const extensionRef = { group: 'x.com', kind: 'Auth', name: 'x' }
  assert.deepEqual(planned([{ type: 'ExtensionRef', extensionRef }]), [{ type: 'respond', status: 500 }])
})

test('filters of a backend apply to its requests only', () => {
  const requestHeaderModifier = { set: [{ name: 'a', value: 'b' }] }
  const backendRefs = [
    { ...backendRef('web:80'), filters: [{ type: 'RequestHeaderModifier' as const, requestHeaderModifier }] },
    { ...backendRef('copy:80'), filters: [{ type: 'RequestRedirect' as const, requestRedirect: {} }] },
  ]
  const { configuration } = planGateways(
    worldOf({
      gateways: [gateway('gw', ['a HTTP:8080'])],
      httpRoutes: [
        httpRoute('r', [{ backendRefs, timeouts: { request: '1m30s', backendRequest: '500ms' } }]),
      ],
      services,
    }),
  )
  const route = configuration.listeners[0]?.virtualHosts[0]?.routes[0]
  assert.deepEqual(route?.filters, [])
  assert.deepEqual(
    route.backends.map(each => each.filters),
    [
      [{ type: 'request-headers', change: { set: [{ name: 'a', value: 'b' }], add: [], remove: [] } }],
      [{ type: 'redirect', status: 302, scheme: 'http', port: 8080 }],
    ],
  )
  assert.deepEqual(route.timeouts, { requestMs: 90_000, backendRequestMs: 500 })
})

test('a rule has the name that it was given in ids', () => {
  const { configuration } = planGateways(
    worldOf({
      gateways: [gateway('gw', ['a HTTP:80'])],
      httpRoutes: [
        httpRoute('r', ['/b', { name: 'named', matches: [{ method: 'GET' }, { method: 'PUT' }] }]),
      ],
    }),
  )
  assert.deepEqual(
    configuration.listeners[0]?.virtualHosts[0]?.routes.map(({ id }) => id),
    ['httproute/default/r/rule-0', 'httproute/default/r/named/match-0', 'httproute/default/r/named/match-1'],
  )
})
