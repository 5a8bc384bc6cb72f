import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Backend } from '#/http-proxy/proxy-configuration.ts'
import { planGateways } from './plan-gateways.ts'
import {
  backendRef,
  configurationLines,
  gateway,
  gatewayLines,
  grpcRoute,
  httpRoute,
  referenceGrant,
  routeLines,
  service,
  worldOf,
  type WorldOptions,
} from './test-gateways.ts'

const web = service('web')
const http = 'a HTTP:80'
const all = 'a HTTP:80 from=All'

function checkConfiguration(world: WorldOptions, expected: readonly string[]): void {
  assert.deepEqual(configurationLines(planGateways(worldOf(world)).configuration), expected)
}

function checkRoutes(world: WorldOptions, expected: readonly string[]): void {
  assert.deepEqual(routeLines(planGateways(worldOf(world))), expected)
}

function checkGateways(world: WorldOptions, expected: readonly string[]): void {
  assert.deepEqual(gatewayLines(planGateways(worldOf(world))), expected)
}

test('a route serves all hosts of a listener without hostname', () => {
  checkConfiguration(
    { gateways: [gateway('gw', [http])], httpRoutes: [httpRoute('r', ['/ -> web:80'])], services: [web] },
    ['gw:80', ' *', '  / -> web:80'],
  )
})

test('the hosts of a route are those that listener and route have in common', () => {
  const cases: readonly (readonly [listener: string, hosts: string | undefined, ...expected: string[]])[] = [
    ['', 'a.com B.com *.c.com', '*', 'a.com', 'b.com', '*.c.com'],
    ['a.com', undefined, 'a.com'],
    ['a.com', 'b.com'],
    ['a.com', '*.com', 'a.com'],
    ['a.com', 'a.com *.com', 'a.com'],
    ['*.a.com', undefined, '*.a.com'],
    ['*.a.com', 'x.a.com y.x.a.com a.com', 'y.x.a.com', 'x.a.com', '*.a.com'],
    ['*.a.com', '*.x.a.com *.com', '*.x.a.com', '*.a.com'],
    ['*.a.com', 'a.com'],
    ['*.a.com', 'xa.com'],
  ]
  for (const [listener, hosts, ...expected] of cases) {
    const { configuration, routes } = planGateways(
      worldOf({
        gateways: [gateway('gw', [`a HTTP:80 ${listener}`.trim()])],
        httpRoutes: [httpRoute('r', ['/ -> web:80'], { ...(hosts !== undefined && { hosts }) })],
      }),
    )
    const names = configuration.listeners[0]?.virtualHosts.map(({ hostname }) => hostname) ?? []
    const attached = expected.length > 0
    // The listener's own hostname is there without routes, too.
    const wanted = new Set([listener || '*', ...expected])
    assert.deepEqual(new Set(names), wanted, `${listener} ${hosts}`)
    assert.equal(routes[0]?.status[0]?.conditions[0]?.status, attached ? 'True' : 'False')
    if (!attached)
      assert.equal(routes[0]?.status[0]?.conditions[0]?.reason, 'NoMatchingListenerHostname', listener)
  }
})

test('matches have the precedence of the specification across routes', () => {
  checkConfiguration(
    {
      gateways: [gateway('gw', [http])],
      httpRoutes: [
        httpRoute('young', ['/ -> b:80', '/a/b -> b:80', 'GET /a -> b:80'], { age: 1 }),
        httpRoute('old', ['/a x=1 | /a -> a:80', '/a/b -> a:80'], { age: 2 }),
        httpRoute('other', ['=/a -> c:80', '~/a.* -> c:80', '/a x=1 y=2 -> c:80', '/a ?q=1 x=1 -> c:80'], {
          age: 3,
        }),
        httpRoute('same-age', ['/a/b -> z:80'], { age: 2 }),
      ],
      services: [service('a'), service('b'), service('c'), service('z')],
    },
    [
      'gw:80',
      ' *',
      '  =/a -> c:80',
      '  ~^(?:/a.*)$ -> c:80',
      '  /a/b -> a:80',
      '  /a/b -> z:80',
      '  /a/b -> b:80',
      '  /a GET -> b:80',
      '  /a x=1 y=2 -> c:80',
      '  /a x=1 ?q=1 -> c:80',
      '  /a x=1 -> a:80',
      '  /a -> a:80',
      '  / -> b:80',
    ],
  )
})

test('rules of more specific hostnames come first, then those of less specific ones', () => {
  checkConfiguration(
    {
      gateways: [gateway('gw', [http])],
      httpRoutes: [
        httpRoute('any', ['=/exact -> any:80']),
        httpRoute('wild', ['/long/prefix -> wild:80'], { hosts: '*.a.com' }),
        httpRoute('exact', ['/ -> exact:80'], { hosts: 'x.a.com' }),
      ],
      services: [service('any'), service('wild'), service('exact')],
    },
    [
      'gw:80',
      ' x.a.com',
      '  / -> exact:80',
      '  /long/prefix -> wild:80',
      '  =/exact -> any:80',
      ' *.a.com',
      '  /long/prefix -> wild:80',
      '  =/exact -> any:80',
      ' *',
      '  =/exact -> any:80',
    ],
  )
})

test('a request uses only routes of the most specific listener that matches its host', () => {
  const listeners = [
    'any HTTP:80',
    'wild HTTP:80 *.a.com',
    'deep HTTP:80 *.x.a.com',
    'exact HTTP:80 y.x.a.com',
  ]
  const hosts = 'b.com *.a.com *.x.a.com y.x.a.com'
  checkConfiguration(
    {
      gateways: [gateway('gw', listeners)],
      httpRoutes: ['any', 'wild', 'deep', 'exact'].map(name => {
        return httpRoute(name, [`/${name} -> web:80`], { parents: `gw/${name}`, hosts })
      }),
      services: [web],
    },
    [
      'gw:80',
      ' y.x.a.com',
      '  /exact -> web:80',
      ' b.com',
      '  /any -> web:80',
      ' *.x.a.com',
      '  /deep -> web:80',
      ' *.a.com',
      '  /wild -> web:80',
      ' *',
    ],
  )
})

test('a listener that cannot be served does not leave its hosts to other listeners', () => {
  checkConfiguration(
    {
      gateways: [gateway('gw', ['wild HTTPS:443 *.a.com cert=good', 'exact HTTPS:443 x.a.com cert=missing'])],
      httpRoutes: [httpRoute('r', ['/ -> web:80'])],
      services: [web],
    },
    ['gw:443', ' x.a.com', ' *.a.com'],
  )
})

test('a parentRef selects listeners by section and port', () => {
  const gateways = [gateway('gw', ['a HTTP:80 a.com', 'b HTTP:81 b.com', 'c HTTP:81 c.com'])]
  const cases: readonly (readonly [parents: string, expected: string])[] = [
    ['gw', '1 1 1'],
    ['gw/b', '0 1 0'],
    ['gw:81', '0 1 1'],
    ['gw/c:81', '0 0 1'],
    ['gw/a gw/b', '1 1 0'],
    ['gw/a:81', '0 0 0'],
    ['gw/x', '0 0 0'],
    ['gw:82', '0 0 0'],
  ]
  for (const [parents, expected] of cases) {
    const plan = planGateways(worldOf({ gateways, httpRoutes: [httpRoute('r', ['/'], { parents })] }))
    const attached = plan.gateways[0]?.status.listeners.map(({ attachedRoutes }) => attachedRoutes)
    assert.equal(attached?.join(' '), expected, parents)
    const [accepted] = plan.routes[0]?.status[0]?.conditions ?? []
    assert.equal(accepted?.reason, expected === '0 0 0' ? 'NoMatchingParent' : 'Accepted', parents)
  }
})

test('routes attach to listeners that allow their kind and namespace', () => {
  const cases: readonly (readonly [listener: string, route: string, reason: string])[] = [
    [http, 'r', 'Accepted'],
    [http, 'other/r', 'NotAllowedByListeners'],
    [all, 'other/r', 'Accepted'],
    ['a HTTP:80 from=Selector@other', 'other/r', 'Accepted'],
    ['a HTTP:80 from=Selector@other', 'r', 'NotAllowedByListeners'],
    ['a HTTP:80 kinds=GRPCRoute', 'r', 'NotAllowedByListeners'],
    ['a HTTP:80 kinds=GRPCRoute,HTTPRoute', 'r', 'Accepted'],
    ['a HTTP:80 kinds=Other', 'r', 'NotAllowedByListeners'],
    ['a TCP:80', 'r', 'NotAllowedByListeners'],
  ]
  for (const [listener, key, reason] of cases) {
    const world = worldOf({
      gateways: [gateway('gw', [listener])],
      httpRoutes: [httpRoute(key, ['/'], { parents: 'default.gw' })],
    })
    const [accepted, resolvedRefs] = planGateways(world).routes[0]?.status[0]?.conditions ?? []
    assert.equal(accepted?.reason, reason, `${listener} ${key}`)
    assert.equal(resolvedRefs?.status, 'True')
  }
})

test('routes to Gateways of other controllers and to other kinds have no status', () => {
  const foreign = gateway('gw', [http], { gatewayClassName: 'other' })
  checkRoutes(
    { gateways: [foreign], httpRoutes: [httpRoute('r', ['/']), httpRoute('s', ['/'], { parents: 'x' })] },
    [],
  )
  checkGateways({ gateways: [foreign] }, [])
})

test('references to backends that cannot be used get 500, and the reason is in ResolvedRefs', () => {
  const grants = [
    referenceGrant('granted: HTTPRoute default -> Service'),
    referenceGrant('other: GRPCRoute default -> Service'),
  ]
  const one = referenceGrant('one: HTTPRoute default -> Service web')
  const services = [
    web,
    ...['granted/web', 'other/web', 'one/web', 'one/api'].map(key => service(key)),
    service('external', { spec: { type: 'ExternalName', externalName: 'x.com', ports: [{ port: 80 }] } }),
    service('udp', { spec: { ports: [{ port: 80, protocol: 'UDP' }] } }),
    service('wss', { appProtocol: 'kubernetes.io/wss' }),
  ]
  const cases: readonly (readonly [backend: string, expected: string, reason: string])[] = [
    ['web:80', 'web:80', 'ResolvedRefs'],
    ['none:80', '500', 'BackendNotFound'],
    ['web:81', '500', 'BackendNotFound'],
    ['granted.web:80', 'granted/web:80', 'ResolvedRefs'],
    ['other.web:80', '500', 'RefNotPermitted'],
    ['one.web:80', 'one/web:80', 'ResolvedRefs'],
    ['one.api:80', '500', 'RefNotPermitted'],
    ['external:80', '500', 'InvalidKind'],
    ['udp:80', '500', 'UnsupportedProtocol'],
    ['wss:80', '500', 'UnsupportedProtocol'],
  ]
  for (const [backend, expected, reason] of cases) {
    const world = {
      gateways: [gateway('gw', [http])],
      httpRoutes: [httpRoute('r', [`/ -> web:80*3 ${backend}`])],
      referenceGrants: [...grants, one],
      services,
    }
    checkConfiguration(world, ['gw:80', ' *', `  / -> web:80*3 ${expected}`])
    const [accepted, resolvedRefs] = planGateways(worldOf(world)).routes[0]?.status[0]?.conditions ?? []
    assert.deepEqual([accepted?.status, resolvedRefs?.reason], ['True', reason], backend)
  }
  const unknown = { group: 'x.com', kind: 'Bucket', name: 'b', port: 80 }
  checkRoutes(
    {
      gateways: [gateway('gw', [http])],
      httpRoutes: [httpRoute('r', [{ backendRefs: [unknown] }])],
    },
    ['r: gw Accepted ResolvedRefs=False:InvalidKind'],
  )
})

test('backends have the ready endpoints of the port and the protocol of the Service', () => {
  const backendOf = (of: ReturnType<typeof service>): Backend | undefined => {
    const { configuration } = planGateways(
      worldOf({
        gateways: [gateway('gw', [http])],
        httpRoutes: [httpRoute('r', ['/ -> web:80'])],
        services: [of],
      }),
    )
    return [...configuration.backends.values()][0]
  }
  assert.deepEqual(backendOf(service('web', { addresses: ['10.0.0.2', '10.0.0.1'] })), {
    id: 'gateway/default/web:80/http1',
    protocol: 'http1',
    endpoints: [
      { address: '10.0.0.1', port: 8080 },
      { address: '10.0.0.2', port: 8080 },
    ],
    hasClientAffinity: false,
  })
  const protocols = ['http', 'kubernetes.io/ws', 'kubernetes.io/h2c', 'grpc'].map(appProtocol => {
    return backendOf(service('web', { appProtocol }))?.protocol
  })
  assert.deepEqual(protocols, ['http1', 'http1', 'http2', 'http2'])
  const affine = { ports: [{ port: 80 }], sessionAffinity: 'ClientIP' }
  assert.equal(backendOf(service('web', { spec: affine }))?.hasClientAffinity, true)
  const [made, slice] = service('web')
  const state = (ready: boolean, serving: boolean, terminating: boolean, address: string) => ({
    addresses: [address],
    conditions: { ready, serving, terminating },
  })
  const leaving = [state(false, true, true, '10.0.0.3'), state(false, false, true, '10.0.0.4')]
  assert.deepEqual(backendOf([made, { ...slice, endpoints: leaving }])?.endpoints, [
    { address: '10.0.0.3', port: 8080 },
  ])
  const mixed = [...leaving, state(true, true, false, '10.0.0.5')]
  assert.deepEqual(backendOf([made, { ...slice, endpoints: mixed }])?.endpoints, [
    { address: '10.0.0.5', port: 8080 },
  ])
  assert.deepEqual(backendOf([made, { ...slice, ports: [{ name: 'other', port: 1 }] }])?.endpoints, [])
})

test('backends that no listener uses are not configured', () => {
  const { configuration } = planGateways(
    worldOf({
      gateways: [gateway('gw', ['a HTTP:80 a.com'])],
      httpRoutes: [httpRoute('r', ['/ -> web:80'], { hosts: 'b.com' })],
      services: [web],
    }),
  )
  assert.equal(configuration.backends.size, 0)
})

test('gRPC matches are paths of HTTP/2, by length of service and method and number of headers', () => {
  const backendRefs = [backendRef('web:80')]
  const matches = [
    {},
    { method: { service: 'foo.Bar' } },
    { method: { method: 'Get' } },
    { method: { service: 'foo.Bar', method: 'Get' } },
    { method: { service: 'foo.Bar', method: 'Get' }, headers: [{ name: 'Version', value: '2' }] },
    { method: { type: 'RegularExpression' as const, service: 'foo\\..*' } },
  ]
  checkConfiguration(
    {
      gateways: [gateway('gw', [http])],
      grpcRoutes: [
        grpcRoute(
          'r',
          matches.map(match => ({ matches: [match], backendRefs })),
        ),
      ],
      services: [web],
    },
    [
      'gw:80',
      ' *',
      '  =/foo.Bar/Get version=2 -> web:80/http2',
      '  =/foo.Bar/Get -> web:80/http2',
      '  /foo.Bar -> web:80/http2',
      '  ~^/(?:foo\\..*)/[^/]+$ -> web:80/http2',
      '  ~^/[^/]+/Get$ -> web:80/http2',
      '  / -> web:80/http2',
    ],
  )
})

test('of an HTTPRoute and a GRPCRoute with the same hostname the older one is accepted', () => {
  const world = {
    gateways: [gateway('gw', [http])],
    httpRoutes: [httpRoute('h', ['/'], { hosts: '*.a.com', age: 1 })],
    grpcRoutes: [
      grpcRoute('g', [{}], { hosts: 'x.a.com', age: 2 }),
      grpcRoute('other', [{}], { hosts: 'b.com', age: 0 }),
    ],
  }
  checkRoutes(world, [
    'g: gw Accepted ResolvedRefs',
    'h: gw Accepted=False:NotAllowedByListeners ResolvedRefs',
    'other: gw Accepted ResolvedRefs',
  ])
  checkRoutes({ ...world, httpRoutes: [httpRoute('h', ['/'], { hosts: '*.a.com', age: 3 })] }, [
    'h: gw Accepted ResolvedRefs',
    'g: gw Accepted=False:NotAllowedByListeners ResolvedRefs',
    'other: gw Accepted ResolvedRefs',
  ])
})

test('rules that cannot be implemented refuse the route', () => {
  checkRoutes(
    {
      gateways: [gateway('gw', [http])],
      httpRoutes: [
        httpRoute('cors', [{ filters: [{ type: 'CORS', cors: {} }] }]),
        httpRoute('regex', ['/x y~(']),
        httpRoute('path', ['~[']),
        httpRoute('both', [
          {
            filters: [
              { type: 'RequestRedirect', requestRedirect: {} },
              { type: 'URLRewrite', urlRewrite: {} },
            ],
          },
        ]),
      ],
    },
    [
      'both: gw Accepted=False:IncompatibleFilters ResolvedRefs',
      'cors: gw Accepted=False:UnsupportedValue ResolvedRefs',
      'path: gw Accepted=False:UnsupportedValue ResolvedRefs',
      'regex: gw Accepted=False:UnsupportedValue ResolvedRefs',
    ],
  )
})

test('values that later releases of the API add refuse the route', () => {
  const route = httpRoute('r', ['/'])
  const [rule] = route.spec.rules
  const path = { type: 'Later' as 'Exact', value: '/' }
  const filters = [{ type: 'Later' as 'CORS' }]
  for (const rules of [[{ ...rule!, matches: [{ path }] }], [{ ...rule!, filters }]]) {
    checkRoutes(
      { gateways: [gateway('gw', [http])], httpRoutes: [{ ...route, spec: { ...route.spec, rules } }] },
      ['r: gw Accepted=False:UnsupportedValue ResolvedRefs'],
    )
  }
})

test('a class with parameters is not accepted, and its Gateways are not served', () => {
  const parametersRef = { group: '', kind: 'ConfigMap', name: 'x' }
  const own = worldOf({ gateways: [gateway('gw', [http])] })
  const classes = own.gatewayClasses.map(each => ({ ...each, spec: { ...each.spec, parametersRef } }))
  const plan = planGateways({ ...own, gatewayClasses: classes })
  assert.deepEqual(
    plan.classes.map(({ status }) => status.map(({ status: value, reason }) => `${value} ${reason}`)),
    [['False InvalidParameters']],
  )
  assert.deepEqual([plan.gateways, plan.configuration.listeners], [[], []])
})

test('each Gateway and port has its own port of the node', () => {
  const { configuration, allocatedPorts } = planGateways(
    worldOf({
      gateways: [gateway('one', ['a HTTP:80', 'b HTTP:81', 'c HTTP:80 c.com']), gateway('two', [http])],
      allocatedPorts: new Map([['default/two:80', 20_000]]),
    }),
  )
  assert.deepEqual(
    configuration.listeners.map(({ id, host, port }) => `${id} ${host}:${port}`),
    [
      'gateway/default/one:80 192.0.2.1:20001',
      'gateway/default/one:81 192.0.2.1:20002',
      'gateway/default/two:80 192.0.2.1:20000',
    ],
  )
  assert.deepEqual(Object.fromEntries(allocatedPorts), {
    'default/two:80': 20_000,
    'default/one:80': 20_001,
    'default/one:81': 20_002,
  })
})
