import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeTarget } from '../message/target.ts'
import type { ProxyRoute, RouteFilter, RouteMatch, VirtualHost } from '../proxy-configuration.ts'
import { compileRoutes } from './compile-routes.ts'
import { matchRoute } from './match-route.ts'
import { planRequest } from './plan-request.ts'

function routeOf(id: string, match: Partial<RouteMatch> & { readonly path: RouteMatch['path'] }): ProxyRoute {
  const backends = [{ backend: id, weight: 1, filters: [] }]
  return { id, match: { headers: [], queryParameters: [], ...match }, filters: [], backends, timeouts: {} }
}

const prefix = (value: string) => ({ type: 'prefix', value }) as const
const exact = (value: string) => ({ type: 'exact', value }) as const
const expression = (value: string) => ({ type: 'regular-expression', value }) as const

function request(url: string, method = 'GET', fields: string[] = []) {
  const { hostname, pathname, search } = new URL(`http://${url}`)
  const { path, target } = normalizeTarget(pathname + search)
  return { method, hostname, path, target, fields, authority: hostname, scheme: 'http', port: 8080 } as const
}

test('the most specific virtual host decides, and its first matching route', () => {
  const hosts: VirtualHost[] = [
    { hostname: '*', wildcard: 'one-label', routes: [routeOf('any', { path: prefix('/') })] },
    { hostname: 'a.com', wildcard: 'one-label', routes: [routeOf('exact-host', { path: prefix('/x/') })] },
    { hostname: '*.a.com', wildcard: 'one-label', routes: [routeOf('one', { path: prefix('/') })] },
    { hostname: '*.b.com', wildcard: 'any-labels', routes: [routeOf('deep', { path: prefix('/') })] },
    { hostname: '*.c.b.com', wildcard: 'any-labels', routes: [routeOf('deeper', { path: prefix('/') })] },
    {
      hostname: 'm.com',
      wildcard: 'one-label',
      routes: [
        routeOf('method', { path: prefix('/'), method: 'POST' }),
        routeOf('header', { path: prefix('/'), headers: [{ name: 'v', type: 'exact', value: '2' }] }),
        routeOf('header-expression', {
          path: prefix('/'),
          headers: [{ name: 'v', type: 'regular-expression', value: '[3-5]' }],
        }),
        routeOf('query', {
          path: prefix('/'),
          queryParameters: [{ name: 'q', type: 'exact', value: 'a b' }],
        }),
        routeOf('exact', { path: exact('/e') }),
        routeOf('expression', { path: expression('/r/[0-9]+') }),
        routeOf('invalid', { path: expression('(') }),
      ],
    },
  ]
  const { table, problems } = compileRoutes(hosts)
  assert.equal(problems.length, 1)
  const cases: readonly (readonly [
    url: string,
    route: string | undefined,
    method?: string,
    fields?: string[],
  ])[] = [
    ['other.com/', 'any'],
    ['a.com/x', 'exact-host'],
    ['a.com/x/', 'exact-host'],
    ['a.com/x/y', 'exact-host'],
    ['a.com/xy', undefined],
    ['w.a.com/', 'one'],
    ['v.w.a.com/', 'any'],
    ['w.b.com/', 'deep'],
    ['v.w.b.com/', 'deep'],
    ['v.c.b.com/', 'deeper'],
    ['b.com/', 'any'],
    ['m.com/', 'method', 'POST'],
    ['m.com/', 'header', 'GET', ['v', '2']],
    ['m.com/', 'header-expression', 'GET', ['v', '4']],
    ['m.com/', undefined, 'GET', ['v', '45']],
    ['m.com/?q=a+b&q=c', 'query'],
    ['m.com/e', 'exact'],
    ['m.com/e/', undefined],
    ['m.com/r/12', 'expression'],
    ['m.com/r/12x', undefined],
  ]
  for (const [url, route, method, fields] of cases)
    assert.equal(matchRoute(table, request(url, method, fields))?.route.id, route, url)
})

function plan(
  filters: readonly RouteFilter[],
  url = 'a.com/foo/bar?q',
  path: RouteMatch['path'] = prefix('/foo'),
) {
  const route = { ...routeOf('web', { path }), filters }
  const { table } = compileRoutes([{ hostname: '*', wildcard: 'one-label', routes: [route] }])
  const asked = request(url, 'GET', ['x', '1'])
  const planned = planRequest(matchRoute(table, asked)!, asked, () => 0.5)
  if (planned.type === 'respond') return [planned.status, ...planned.fields].join(' ')
  const changes = planned.responseChanges.length
  return [planned.target, planned.authority, planned.fields.join(':'), changes, planned.mirrors.join()].join(
    ' ',
  )
}

test('filters change requests, redirect and respond', () => {
  const change = { set: [{ name: 'X', value: '2' }], add: [{ name: 'y', value: '3' }], remove: ['Z'] }
  const cases: readonly (readonly [expected: string, ...parameters: Parameters<typeof plan>])[] = [
    ['/foo/bar?q a.com x:1 0 ', []],
    [
      '/foo/bar?q a.com x:2:y:3 1 ',
      [
        { type: 'request-headers', change },
        { type: 'response-headers', change },
      ],
    ],
    [
      '/foo/bar?q a.com x:1 0 ',
      [{ type: 'request-headers', change: { set: [], add: [{ name: 'y', value: 'a\r\nb' }], remove: [] } }],
    ],
    [
      '/new/bar?q b.com x:1 0 ',
      [{ type: 'rewrite', hostname: 'b.com', path: { type: 'prefix', value: '/new' } }],
    ],
    ['/bar?q a.com x:1 0 ', [{ type: 'rewrite', path: { type: 'prefix', value: '/' } }]],
    ['/new?q a.com x:1 0 ', [{ type: 'rewrite', path: { type: 'prefix', value: '/new' } }], 'a.com/foo?q'],
    ['/full?q a.com x:1 0 ', [{ type: 'rewrite', path: { type: 'full', value: '/full' } }]],
    ['500', [{ type: 'rewrite', path: { type: 'full', value: '/a b' } }]],
    ['500', [{ type: 'rewrite', hostname: 'a\r\nb' }]],
    ['301 location http://a.com:8080/foo/bar?q', [{ type: 'redirect', status: 301 }]],
    ['308 location https://a.com/foo/bar?q', [{ type: 'redirect', scheme: 'https', status: 308 }]],
    [
      '308 location https://a.com:8443/foo/bar?q',
      [{ type: 'redirect', scheme: 'https', port: 8443, status: 308 }],
    ],
    [
      '302 location http://b.com:8080/new/bar?q',
      [{ type: 'redirect', hostname: 'b.com', path: { type: 'prefix', value: '/new' }, status: 302 }],
    ],
    ['418', [{ type: 'respond', status: 418 }]],
    ['/foo/bar?q a.com x:1 0 copy', [{ type: 'mirror', backend: 'copy', percent: 100 }]],
    ['/foo/bar?q a.com x:1 0 ', [{ type: 'mirror', backend: 'copy', percent: 50 }]],
  ]
  for (const [expected, ...parameters] of cases)
    assert.equal(plan(...parameters), expected, JSON.stringify(parameters[0]))
})

test('weights divide requests, and a reference that cannot be resolved takes its share', () => {
  const backends = [
    { backend: 'a', weight: 1, filters: [] },
    { backend: 'none', weight: 0, filters: [] },
    { backend: undefined, weight: 1, filters: [] },
    { backend: 'b', weight: 2, filters: [] },
  ]
  const route = { ...routeOf('web', { path: prefix('/') }), backends }
  const { table } = compileRoutes([{ hostname: '*', wildcard: 'one-label', routes: [route] }])
  const asked = request('a.com/')
  const chosen = [0, 0.2, 0.3, 0.6, 0.99].map(draw => {
    const planned = planRequest(matchRoute(table, asked)!, asked, () => draw)
    return planned.type === 'forward' ? planned.backend : planned.status
  })
  assert.deepEqual(chosen, ['a', 'a', 500, 'b', 'b'])
})
