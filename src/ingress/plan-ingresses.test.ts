import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Secret, Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Ingress, IngressClass, IngressSpec } from '#/api/generated/networking/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import type { RouteFilter } from '#/http-proxy/proxy-configuration.ts'
import { planIngresses, type IngressPlan } from './plan-ingresses.ts'
import { planSecretWatches } from './secret-watches.ts'

const classes: readonly IngressClass[] = [
  { metadata: { name: 'k8ts' }, spec: { controller: 'k8ts.io/ingress-controller' } },
  { metadata: { name: 'mine' }, spec: { controller: 'k8ts.io/ingress-controller' } },
  { metadata: { name: 'other' }, spec: { controller: 'example.com/other' } },
]

const defaultClass: IngressClass = {
  metadata: { name: 'k8ts', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
  spec: { controller: 'k8ts.io/ingress-controller' },
}

let age = 0

function ingress(name: string, spec: IngressSpec, annotations: Record<string, string> = {}): Stored<Ingress> {
  const creationTimestamp = new Date(1_000_000 + 1_000 * age++).toISOString()
  const metadata = {
    namespace: 'default',
    name,
    uid: name,
    resourceVersion: '1',
    creationTimestamp,
    annotations,
  }
  return { metadata, spec: { ingressClassName: 'k8ts', ...spec } }
}

const services: Readonly<Record<string, Service['spec']>> = {
  web: {
    ports: [
      { name: 'http', port: 80, targetPort: 'http' },
      { name: 'admin', port: 81 },
    ],
  },
  sticky: { ports: [{ port: 80 }], sessionAffinity: 'ClientIP' },
  external: { type: 'ExternalName', externalName: 'example.com', ports: [{ port: 80 }] },
  udp: { ports: [{ port: 80, protocol: 'UDP' }] },
}

const ready = { ready: true }
const slices: readonly EndpointSlice[] = [
  {
    metadata: { name: 'web-1' },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    endpoints: [
      { addresses: ['10.0.0.2'], conditions: ready },
      { addresses: ['10.0.0.1'], conditions: {} },
      { addresses: ['10.0.0.3'], conditions: { ready: false } },
      { addresses: ['10.0.0.4'], conditions: { ready: false, serving: true, terminating: true } },
    ],
  },
  {
    metadata: { name: 'web-2' },
    addressType: 'IPv4',
    ports: [{ name: 'admin', port: 9090, protocol: 'TCP' }],
    endpoints: [
      { addresses: ['10.0.0.5'], conditions: { ready: false, serving: true, terminating: true } },
      { addresses: ['10.0.0.6'], conditions: { ready: false, serving: false, terminating: true } },
    ],
  },
]

const pem = (kind: string): string => btoa(`-----BEGIN ${kind}-----\n`)
const secretData: Readonly<Record<string, Secret['data']>> = {
  tls: { 'tls.crt': pem('CERTIFICATE'), 'tls.key': pem('PRIVATE KEY') },
  broken: { 'tls.crt': btoa('x') },
}

function plan(ingresses: readonly Stored<Ingress>[], given = classes): IngressPlan {
  const state = {
    ingresses,
    classes: given,
    service: (_namespace: string, name: string) =>
      services[name] && { metadata: { name }, spec: services[name] },
    slicesOf: (_namespace: string, name: string) => (name === 'web' ? slices : []),
    secret: (_namespace: string, name: string) =>
      secretData[name] && { metadata: { name }, data: secretData[name] },
  }
  const defaultCertificate = { cert: 'default', key: 'default' }
  return planIngresses(state, { host: '192.0.2.1', httpPort: 80, httpsPort: 443, defaultCertificate })
}

/** `host type:path -> backend` of the listener, in order. */
function routesOf({ configuration }: IngressPlan, listener = 'ingress-https'): readonly string[] {
  const { virtualHosts = [] } = configuration.listeners.find(({ id }) => id === listener) ?? {}
  return virtualHosts.flatMap(({ hostname, routes }) =>
    routes.map(({ match, backends, filters }) => {
      const to = filters.length > 0 ? describe(filters[0]!) : backends[0]?.backend
      return `${hostname} ${match.path.type}:${match.path.value} -> ${to}`
    }),
  )
}

function describe(filter: RouteFilter): string {
  return filter.type === 'redirect' ? `${filter.status} ${filter.scheme}` : filter.type
}

const to = (name: string, port: number | string = 80) => {
  return { service: { name, port: typeof port === 'number' ? { number: port } : { name: port } } }
}

function rule(host: string | undefined, paths: Readonly<Record<string, ReturnType<typeof to>>>) {
  const list = Object.entries(paths).map(([text, backend]) => {
    const [type = '', path] = text.split(':')
    return { pathType: type, ...(path && { path }), backend }
  })
  return { ...(host !== undefined && { host }), http: { paths: list } }
}

function problemsOf({ problems }: IngressPlan): readonly string[] {
  return problems.map(({ ingress: key, reason }) => `${key} ${reason}`)
}

test('paths are ordered: exact ones, then longer prefixes; hosts are in lower case', () => {
  const rules = [
    rule('A.com', {
      'Prefix:/': to('web'),
      'Prefix:/a': to('web'),
      'ImplementationSpecific:/a/b/': to('web', 'admin'),
    }),
    rule('a.com', { 'Exact:/a': to('sticky') }),
    rule(undefined, { 'ImplementationSpecific:': to('web') }),
  ]
  assert.deepEqual(routesOf(plan([ingress('web', { rules })])), [
    'a.com exact:/a -> default/sticky:80',
    'a.com prefix:/a/b/ -> default/web:admin',
    'a.com prefix:/a -> default/web:80',
    'a.com prefix:/ -> default/web:80',
    '* prefix:/ -> default/web:80',
  ])
})

test('backends have the ready endpoints of the port, else those that still serve', () => {
  const rules = [
    rule('a', { 'Prefix:/': to('web'), 'Prefix:/admin': to('web', 'admin'), 'Prefix:/s': to('sticky') }),
  ]
  const { backends } = plan([ingress('web', { rules })]).configuration
  const endpoints = [...backends.values()].map(({ id, endpoints: all, hasClientAffinity }) => {
    return `${id} ${all.map(({ address, port }) => `${address}:${port}`).join()}${hasClientAffinity ? ' affinity' : ''}`
  })
  assert.deepEqual(endpoints, [
    'default/web:80 10.0.0.1:8080,10.0.0.2:8080',
    'default/web:admin 10.0.0.5:9090',
    'default/sticky:80  affinity',
  ])
})

test('only Ingresses of the class of this controller are served', () => {
  const spec = { rules: [rule('a', { 'Prefix:/': to('web') })] }
  const without = (name: string, annotations?: Record<string, string>): Stored<Ingress> => {
    const { ingressClassName: _, ...rest } = ingress(name, spec, annotations).spec!
    return { ...ingress(name, {}, annotations), spec: rest }
  }
  const all = [
    ingress('ours', spec),
    ingress('another-of-ours', { ...spec, ingressClassName: 'mine' }),
    ingress('other', { ...spec, ingressClassName: 'other' }),
    ingress('unknown', { ...spec, ingressClassName: 'unknown' }),
    without('legacy', { 'kubernetes.io/ingress.class': 'k8ts' }),
    without('legacy-other', { 'kubernetes.io/ingress.class': 'nginx' }),
    without('none'),
  ]
  const names = (given: readonly IngressClass[]) =>
    [...plan(all, given).served].map(key => key.replace(/.*\//, '')).sort()
  assert.deepEqual(names(classes), ['another-of-ours', 'legacy', 'ours'])
  assert.deepEqual(names([defaultClass]), ['legacy', 'none', 'ours'])
})

test('the older of two Ingresses with the same host and path counts, and the other is told', () => {
  const older = ingress('older', { rules: [rule('a', { 'Prefix:/x': to('web') })] })
  const newer = ingress('newer', {
    rules: [rule('a', { 'Prefix:/x/': to('sticky'), 'Exact:/x': to('sticky') })],
  })
  const planned = plan([newer, older])
  assert.deepEqual(routesOf(planned), ['a exact:/x -> default/sticky:80', 'a prefix:/x -> default/web:80'])
  assert.deepEqual(problemsOf(planned), ['default/newer HostPathConflict'])
})

test('a default backend serves what the rules of its Ingress leave over', () => {
  const rules = [rule('a', { 'Prefix:/x': to('web') }), rule('b', { 'Prefix:/': to('web') })]
  assert.deepEqual(routesOf(plan([ingress('web', { rules, defaultBackend: to('sticky') })])), [
    'a prefix:/x -> default/web:80',
    'a prefix:/ -> default/sticky:80',
    'b prefix:/ -> default/web:80',
    '* prefix:/ -> default/sticky:80',
  ])
})

test('hosts with TLS are redirected unless an annotation turns it off, and get their certificates', () => {
  const rules = ['a', 'b', 'c'].map(host => rule(host, { 'Prefix:/': to('web') }))
  const tls = [{ hosts: ['a', 'B'], secretName: 'tls' }]
  const planned = plan([ingress('web', { rules, tls })])
  assert.deepEqual(routesOf(planned, 'ingress-http'), [
    'a prefix:/ -> 308 https',
    'b prefix:/ -> 308 https',
    'c prefix:/ -> default/web:80',
  ])
  const certificates = planned.configuration.listeners[1]!.certificates.map(({ hostnames }) => hostnames)
  assert.deepEqual(certificates, [['a', 'b'], []])
  const off = plan([ingress('web', { rules, tls }, { 'nginx.ingress.kubernetes.io/ssl-redirect': 'false' })])
  assert.equal(routesOf(off, 'ingress-http')[0], 'a prefix:/ -> default/web:80')
})

test('what is missing is reported, and the rest is served', () => {
  const paths = {
    'Prefix:/1': to('missing'),
    'Prefix:/2': to('web', 99),
    'Prefix:/3': to('external'),
    'Prefix:/4': to('udp'),
    'Prefix:/5': { resource: { kind: 'Bucket', name: 'b' } } as unknown as ReturnType<typeof to>,
    'Prefix:/6': to('web'),
  }
  const tls = [{ secretName: 'none' }, { secretName: 'broken' }]
  const planned = plan([
    ingress('web', { rules: [rule('a', paths)], tls }, { 'ingress.k8ts.io/proxy-body-size': 'x' }),
  ])
  assert.deepEqual(problemsOf(planned).toSorted(), [
    'default/web ExternalNameService',
    'default/web InvalidAnnotation',
    'default/web InvalidSecret',
    'default/web MissingSecret',
    'default/web MissingService',
    'default/web MissingServicePort',
    'default/web MissingServicePort',
    'default/web UnsupportedBackend',
  ])
  assert.equal(routesOf(planned).length, 6)
  assert.deepEqual([...planned.secrets], ['default/none', 'default/broken'])
})

test('annotations set timeouts, sizes, protocols and allowed clients', () => {
  const rules = [rule('a', { 'Prefix:/': to('web') })]
  const planned = plan([
    ingress(
      'web',
      { rules },
      {
        'nginx.ingress.kubernetes.io/proxy-body-size': '1k',
        'ingress.k8ts.io/proxy-body-size': '8m',
        'nginx.ingress.kubernetes.io/proxy-read-timeout': '300',
        'nginx.ingress.kubernetes.io/proxy-connect-timeout': '2s',
        'ingress.k8ts.io/request-timeout': '10',
        'ingress.k8ts.io/backend-protocol': 'grpc',
        'nginx.ingress.kubernetes.io/whitelist-source-range': '10.0.0.0/8, 192.0.2.7',
      },
    ),
  ])
  const [route] = planned.configuration.listeners[0]!.virtualHosts[0]!.routes
  assert.equal(route?.bodyBytesMax, 8 * 1_024 * 1_024)
  assert.deepEqual(route.timeouts, { connectMs: 2_000, backendIdleMs: 300_000, requestMs: 10_000 })
  assert.deepEqual(route.allowedClientCidrs, ['10.0.0.0/8', '192.0.2.7/32'])
  assert.equal(planned.configuration.backends.get('default/web:80#http2')?.protocol, 'http2')
})

test('many secrets of one namespace are followed together', () => {
  const many = Array.from({ length: 11 }, (_, index) => `many/s${index}`)
  assert.deepEqual([...planSecretWatches(new Set(['few/a', 'few/b', ...many]))], ['few/a', 'few/b', 'many'])
})
