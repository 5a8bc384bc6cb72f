import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { events, secrets, services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { ingressClasses, ingresses } from '#/api/generated/networking/v1-resources.ts'
import type { Ingress } from '#/api/generated/networking/v1.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import type { ProxyConfiguration } from '#/http-proxy/proxy-configuration.ts'
import { ensureIngressClass, ensureIngressRbac } from './ensure-ingress.ts'
import { IngressController } from './ingress-controller.ts'

const namespace = 'default'

interface World extends TestControlPlane {
  readonly controller: IngressController
  /** Configurations so far. */
  readonly seen: ProxyConfiguration[]
  readonly addresses: (name: string) => Promise<readonly (string | undefined)[]>
  readonly reasons: () => Promise<readonly string[]>
}

/** The controller has the rights of its service account. */
async function start(t: TestContext): Promise<World> {
  const plane = await startTestControlPlane(t, [])
  await plane.run(ensureIngressRbac(plane.client))
  await plane.run(ensureIngressClass(plane.client))
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system']
  const controller = new IngressController({
    platform: plane.platform,
    client: plane.clientAs('system:serviceaccount:kube-system:k8ts-ingress', groups),
    host: '192.0.2.1',
    httpPort: 80,
    httpsPort: 443,
    defaultCertificate: { cert: 'default', key: 'default' },
    statusAddresses: ['192.0.2.1'],
  })
  const seen: ProxyConfiguration[] = []
  controller.onChange(() => seen.push(controller.configuration!))
  const stopping = new AbortController()
  const running = controller.run(stopping.signal)
  t.after(async () => {
    stopping.abort(new Error('the test has ended'))
    await plane.run(running)
  })
  await plane.settle()
  const addresses = async (name: string): Promise<readonly (string | undefined)[]> => {
    const { status } = await plane.run(plane.client.get(ingresses, { namespace, name }))
    return (status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip)
  }
  const reasons = async (): Promise<readonly string[]> => {
    const all = await plane.list(events, namespace)
    return all.map(({ reason, involvedObject }) => `${involvedObject.name} ${reason}`).toSorted()
  }
  return { ...plane, controller, seen, addresses, reasons }
}

function ingressOf(name: string, spec: Ingress['spec'] = {}): Ingress {
  const backend = { service: { name: 'web', port: { number: 80 } } }
  const rules = [
    { host: `${name}.example.com`, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } },
  ]
  return { metadata: { namespace, name }, spec: { rules, ...spec } }
}

const slice = {
  metadata: { namespace, name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
  ports: [{ name: '', port: 8080, protocol: 'TCP' }],
}

test('an Ingress is served when its service exists, with status and events', async t => {
  const world = await start(t)
  assert.deepEqual(world.controller.configuration?.backends.size, 0)
  await world.create(ingresses, ingressOf('web'))
  assert.deepEqual(await world.addresses('web'), ['192.0.2.1'])
  assert.deepEqual(await world.reasons(), ['web MissingService', 'web Sync'])
  await world.create(services, { metadata: { namespace, name: 'web' }, spec: { ports: [{ port: 80 }] } })
  await world.create(endpointSlices, slice)
  const backend = () => world.controller.configuration?.backends.get('default/web:80')
  assert.deepEqual(backend()?.endpoints, [{ address: '10.0.0.1', port: 8080 }])
  const endpoints = [{ addresses: ['10.0.0.2'], conditions: { ready: true } }]
  await world.change(endpointSlices, 'default/web-1', object => ({ ...object, endpoints }))
  assert.deepEqual(backend()?.endpoints, [{ address: '10.0.0.2', port: 8080 }])
  assert.deepEqual(await world.reasons(), ['web MissingService', 'web Sync'])
})

test('changes of other services plan nothing', async t => {
  const world = await start(t)
  await world.create(ingresses, ingressOf('web'))
  const before = world.seen.length
  await world.create(services, { metadata: { namespace, name: 'other' }, spec: { ports: [{ port: 80 }] } })
  assert.equal(world.seen.length, before)
})

test('a secret is followed while an Ingress refers to it', async t => {
  const world = await start(t)
  const tls = [{ hosts: ['web.example.com'], secretName: 'web-tls' }]
  await world.create(ingresses, ingressOf('web', { tls }))
  const certificates = () =>
    world.controller.configuration?.listeners[1]?.certificates.map(({ cert }) => cert)
  assert.deepEqual(certificates(), ['default'])
  const pem = (text: string): string => `-----BEGIN CERTIFICATE-----\n${text}`
  const dataOf = (text: string) => ({
    'tls.crt': btoa(pem(text)),
    'tls.key': btoa('-----BEGIN PRIVATE KEY-----'),
  })
  await world.create(secrets, { metadata: { namespace, name: 'web-tls' }, data: dataOf('one') })
  await world.create(secrets, { metadata: { namespace, name: 'other' }, data: {} })
  assert.deepEqual(certificates(), [pem('one'), 'default'])
  await world.change(secrets, 'default/web-tls', secret => ({ ...secret, data: dataOf('two') }))
  assert.deepEqual(certificates(), [pem('two'), 'default'])
  await world.run(world.client.delete(ingresses, { namespace, name: 'web' }))
  await world.settle()
  assert.deepEqual(certificates(), ['default'])
})

test('an Ingress that changes to another class loses its address', async t => {
  const world = await start(t)
  await world.create(ingressClasses, {
    metadata: { name: 'other' },
    spec: { controller: 'example.com/other' },
  })
  await world.create(ingresses, ingressOf('web', { ingressClassName: 'k8ts' }))
  await world.create(ingresses, ingressOf('foreign', { ingressClassName: 'other' }))
  assert.deepEqual(await world.addresses('foreign'), [])
  await world.changeStatus(ingresses, 'default/web', object => ({ ...object, status: {} }))
  assert.deepEqual(await world.addresses('web'), ['192.0.2.1'])
  await world.change(ingresses, 'default/web', object => {
    return { ...object, spec: { ...object.spec, ingressClassName: 'other' } }
  })
  assert.deepEqual(await world.addresses('web'), [])
})
