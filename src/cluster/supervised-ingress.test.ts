import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { configMaps, events } from '#/api/generated/core/v1-resources.ts'
import { ingressClasses, ingresses } from '#/api/generated/networking/v1-resources.ts'
import type { Ingress } from '#/api/generated/networking/v1.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { selfSignedCertificate } from '#/kubeadm/self-signed-certificate.ts'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { SupervisedIngress, type IngressTrigger } from './supervised-ingress.ts'

interface World extends TestControlPlane {
  readonly ingress: SupervisedIngress
  /** Command lines of the processes so far. */
  readonly started: string[]
  /** Ends the running process. */
  readonly crash: () => void
}

async function start(t: TestContext, triggers?: readonly IngressTrigger[]): Promise<World> {
  const plane = await startTestControlPlane(t, [])
  const started: string[] = []
  let crash = (): void => undefined
  plane.simulation.program('sh', ({ parameters }) => {
    started.push(parameters.slice(3).join(' '))
    return new Promise(resolve => (crash = () => resolve(3)))
  })
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const names = { commonName: 'ca', names: [] }
  const authority = await selfSignedCertificate({ platform, crypto: nodeCrypto() }, names)
  const ingress = new SupervisedIngress({
    platform: plane.platform,
    crypto: nodeCrypto(),
    folder: '/srv/k8ts',
    client: plane.client,
    ca: { name: 'ca', ...authority },
    server: 'https://192.0.2.1:6443',
    nodeName: 'node-1',
    address: '192.0.2.1',
    httpPort: 80,
    httpsPort: 443,
    program: ['k8ts'],
    ...(triggers && { triggers }),
  })
  await plane.run(plane.platform.files.makeFolder('/srv/k8ts'))
  const stopping = new AbortController()
  const running = ingress.run(stopping.signal)
  t.after(async () => {
    stopping.abort(new Error('the test has ended'))
    await plane.run(running)
  })
  await plane.settle()
  return { ...plane, ingress, started, crash: () => crash() }
}

function ingressOf(name: string, ingressClassName: string): Ingress {
  const defaultBackend = { service: { name: 'web', port: { number: 80 } } }
  return { metadata: { namespace: 'default', name }, spec: { ingressClassName, defaultBackend } }
}

test('the process starts at the first Ingress of its class, and is restarted with an event', async t => {
  const world = await start(t)
  const { items } = await world.run(world.client.list(ingressClasses))
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['k8ts'],
  )
  await world.create(ingressClasses, {
    metadata: { name: 'other' },
    spec: { controller: 'example.com/other' },
  })
  await world.create(ingresses, ingressOf('foreign', 'other'))
  assert.equal(world.started.length, 0)
  assert.deepEqual([world.ingress.state], [undefined])
  await world.create(ingresses, ingressOf('web', 'k8ts'))
  // Keys and certificates are made outside of virtual time.
  await settleUntil(world, () => world.started.length === 1)
  assert.match(
    world.started[0]!,
    /^\/srv\/k8ts\/logs\/ingress.log k8ts ingress .*--http-port=80 --https-port=443/,
  )
  assert.equal(world.ingress.state?.restarts, 0)
  world.crash()
  await settleUntil(world, () => world.started.length === 2)
  assert.equal(world.ingress.state?.restarts, 1)
  const event = (await world.list(events)).find(({ reason }) => reason === 'BackOff')
  assert.equal(event?.involvedObject.kind, 'IngressClass')
  assert.match(event?.message ?? '', /code 3 .* \/srv\/k8ts\/logs\/ingress.log/)
})

test('a resource without a definition is watched as soon as there is one', async t => {
  const trigger: IngressTrigger = {
    resource: configMaps,
    definition: 'gateways.example.com',
    isServed: async (_client, { name }) => name === 'gateway',
  }
  const world = await start(t, [trigger])
  await world.create(configMaps, { metadata: { namespace: 'default', name: 'gateway' } })
  assert.equal(world.started.length, 0)
  await world.create(customResourceDefinitions, {
    metadata: { name: 'gateways.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'gateways', kind: 'Gateway' },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  })
  await settleUntil(world, () => world.started.length === 1)
})

async function settleUntil(world: TestControlPlane, condition: () => boolean): Promise<void> {
  for (let rounds = 0; !condition(); rounds++) {
    assert.ok(rounds < 1_000, condition.toString())
    await world.settle()
  }
}
