/** An operator's webhooks, called by an API server with the certificate that the operator makes itself. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from '#/api/generated/admissionregistration/v1-resources.ts'
import { customResourceDefinitions } from '#/api/generated/apiextensions/v1-resources.ts'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import type { ConfigMap } from '#/api/generated/core/v1.ts'
import { configMaps, secrets } from '#/api/generated/core/v1-resources.ts'
import { readAdmission } from '#/apiserver/admission.ts'
import { startTestServer } from '#/apiserver/test-server.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { defineController } from '#/controllers/define-controller.ts'
import { runOperator, type Operator } from '#/operator/operator.ts'
import { admissionWebhook, conversionWebhook } from '#/operator/webhooks.ts'
import type { HttpClientResponse } from '#/platform/http-client.ts'
import { connectHttp, nodeCrypto, nodePlatform, serveHttp } from '#/platform/node.ts'
import { waitUntil } from '../wait-until.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

const at = { namespace: 'default', name: 'shop-operator' }

const rules = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }]

const hooks = [
  admissionWebhook<ConfigMap>({
    path: '/mutate',
    review: ({ object }) => ({
      allowed: true,
      object: { ...object!, data: { ...object!.data, mutated: 'yes' } },
      warnings: ['mutated'],
    }),
  }),
  admissionWebhook<ConfigMap>({
    path: '/validate',
    review: ({ object }) => {
      const color = object?.data?.['color']
      if (color === 'none') throw new Error('a defect of the webhook')
      return color === 'red' ? { allowed: false, message: 'red is not allowed' } : { allowed: true }
    },
  }),
  conversionWebhook({
    path: '/convert',
    convert: (object, desired) => {
      if (object.metadata.name === 'odd') throw new Error('odd cannot be converted')
      return { ...object, metadata: { ...object.metadata, annotations: { to: desired } } }
    },
  }),
]

interface World {
  readonly client: Client
  readonly url: string
  readonly run: (operator?: Partial<Operator>) => { readonly stop: () => Promise<void> }
  /** A request to the operator that trusts only the stored certificate authority. */
  readonly call: (method: string, path: string, body?: unknown) => Promise<[number, string]>
}

async function startWorld(t: TestContext): Promise<World> {
  const admission = await readAdmission(platform.files, { disable: ['ServiceAccount'] })
  const { server } = await startTestServer(t, platform, { admission, connectHttp })
  const user = { username: 'admin', groups: ['system:masters', 'system:authenticated'] }
  const transport = inProcessTransport({ handle: server.handle, user })
  const client = clientOf({ platform, transport, userAgent: 'test' })
  const port = await freePort()
  const url = `https://127.0.0.1:${port}`
  const run: World['run'] = operator => {
    const stopping = new AbortController()
    const machine = { serveHttp, crypto: nodeCrypto() }
    const running = runOperator(
      {
        name: at.name,
        controllers: [],
        webhooks: { hooks, url },
        listen: { host: '127.0.0.1', port },
        ...operator,
      },
      { client, platform, machine, signal: stopping.signal },
    )
    const stop = async (): Promise<void> => {
      stopping.abort()
      await running
    }
    t.after(stop)
    return { stop }
  }
  const call: World['call'] = async (method, path, body) => {
    const secret = await client.find(secrets, { ...at, name: `${at.name}-webhook-certificate` })
    const ca = Buffer.from(secret?.data?.['ca.crt'] ?? '', 'base64')
    await using http = connectHttp({ origin: url, tls: { ca } })
    const bytes = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }
    const response = await http.request({ method, path, ...bytes })
    return [response.status, await textOf(response)]
  }
  return { client, url, run, call }
}

/** Also waits until the server uses the stored certificate. */
async function isReady({ call }: World): Promise<boolean> {
  const [status] = await call('GET', '/readyz').catch(() => [0])
  return status === 200
}

async function textOf({ body }: HttpClientResponse): Promise<string> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function configure({ client, url }: World): Promise<void> {
  const webhookOf = (path: string) => ({
    name: `${path}.example.com`,
    clientConfig: { url: `${url}/${path}` },
    rules,
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
  })
  const foreign = {
    ...webhookOf('foreign'),
    clientConfig: { url: 'https://127.0.0.1:1/' },
    failurePolicy: 'Ignore',
  }
  const metadata = { name: 'shop' }
  await client.create(mutatingWebhookConfigurations, { metadata, webhooks: [webhookOf('mutate')] })
  await client.create(validatingWebhookConfigurations, {
    metadata,
    webhooks: [webhookOf('validate'), foreign],
  })
}

test('admission webhooks are called once the caBundle of their configuration is written', async t => {
  const world = await startWorld(t)
  const { client } = world
  await configure(world)
  const operator = world.run()
  const bundles = async () => {
    const { webhooks: mutating } = await client.get(mutatingWebhookConfigurations, { name: 'shop' })
    const { webhooks: validating } = await client.get(validatingWebhookConfigurations, { name: 'shop' })
    return [...(mutating ?? []), ...(validating ?? [])].map(({ clientConfig }) => clientConfig.caBundle)
  }
  await waitUntil(async () => (await bundles()).filter(Boolean).length === 2)
  assert.equal((await bundles())[2], undefined, 'a configuration of another server')
  const create = (name: string, color: string) => {
    return client.create(configMaps, { metadata: { namespace: 'default', name }, data: { color } })
  }
  await waitUntil(() => isReady(world))
  assert.deepEqual((await create('a', 'blue')).data, { color: 'blue', mutated: 'yes' })
  await assert.rejects(create('b', 'red'), {
    message: 'admission webhook "validate.example.com" denied the request: red is not allowed',
    code: 403,
  })
  await assert.rejects(create('c', 'none'), /failed calling webhook "validate\.example\.com".*internal error/)
  await operator.stop()
})

test('a lost certificate is replaced, and its authority published', async t => {
  const world = await startWorld(t)
  const { client } = world
  await configure(world)
  const operator = world.run()
  await waitUntil(() => isReady(world))
  const bundleOf = async () => {
    const { webhooks } = await client.get(mutatingWebhookConfigurations, { name: 'shop' })
    return webhooks?.[0]?.clientConfig.caBundle
  }
  const before = await bundleOf()
  assert.ok(before)
  await client.delete(secrets, { ...at, name: `${at.name}-webhook-certificate` })
  await waitUntil(async () => (await bundleOf()) !== before)
  await waitUntil(() => isReady(world))
  const metadata = { namespace: 'default', name: 'a' }
  assert.equal((await client.create(configMaps, { metadata })).data?.['mutated'], 'yes')
  await operator.stop()
})

test('a conversion webhook converts, reports failures, and has its caBundle in the definition', async t => {
  const world = await startWorld(t)
  const { client, url } = world
  const schema = { openAPIV3Schema: { type: 'object' } }
  await client.create(customResourceDefinitions, {
    metadata: { name: 'shops.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Shop', plural: 'shops' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
      conversion: {
        strategy: 'Webhook',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: `${url}/convert` } },
      },
    },
  })
  const operator = world.run()
  await waitUntil(async () => {
    const { spec } = await client.get(customResourceDefinitions, { name: 'shops.example.com' })
    return Boolean(spec.conversion?.webhook?.clientConfig?.caBundle)
  })
  const ask = async (...names: readonly string[]): Promise<unknown> => {
    const objects = names.map(name => ({ apiVersion: 'example.com/v1', kind: 'Shop', metadata: { name } }))
    const request = { uid: 'u', desiredAPIVersion: 'example.com/v2', objects }
    const review = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'ConversionReview', request }
    const [status, text] = await world.call('POST', '/convert', review)
    return status === 200 ? (JSON.parse(text) as { response: unknown }).response : [status, text]
  }
  await waitUntil(() => isReady(world))
  const metadata = { name: 'a', annotations: { to: 'example.com/v2' } }
  assert.deepEqual(await ask('a'), {
    uid: 'u',
    convertedObjects: [{ apiVersion: 'example.com/v2', kind: 'Shop', metadata }],
    result: { status: 'Success' },
  })
  const failed = { status: 'Failed', message: 'odd cannot be converted' }
  assert.deepEqual(await ask('a', 'odd'), { uid: 'u', result: failed })
  assert.deepEqual(await world.call('POST', '/convert', {}), [400, 'the body has no request'])
  assert.deepEqual(await world.call('GET', '/convert'), [405, 'method not allowed'])
  assert.deepEqual(await world.call('GET', '/other'), [404, 'not found'])
  await operator.stop()
  await assert.rejects(world.call('GET', '/healthz'), { reason: 'unreachable' })
})

test('health and metrics are served, and a stopped operator releases its lease', async t => {
  const world = await startWorld(t)
  const { client } = world
  const seen: string[] = []
  const operator = world.run({
    controllers: [
      defineController({
        name: 'map-controller',
        resource: configMaps,
        reconcile: async ({ key }) => void seen.push(key),
      }),
    ],
    registerMetrics: registry => registry.gauge({ name: 'shop_open', help: 'Open shops.' }).with().add(3),
  })
  await client.create(configMaps, { metadata: { namespace: 'default', name: 'a' } })
  await waitUntil(() => seen.includes('default/a'))
  await waitUntil(() => isReady(world))
  assert.deepEqual(await world.call('GET', '/healthz'), [200, 'ok'])
  const [, metrics] = await world.call('GET', '/metrics')
  assert.match(metrics, /^workqueue_depth\{name="map-controller"\} 0$/m)
  assert.match(metrics, /^workqueue_adds_total\{name="map-controller"\} [1-9]\d*$/m)
  assert.match(metrics, /^leader_election_master_status\{name="shop-operator"\} 1$/m)
  assert.match(metrics, /^shop_open 3$/m)
  assert.ok((await client.get(leases, at)).spec?.holderIdentity)
  await operator.stop()
  assert.equal((await client.get(leases, at)).spec?.holderIdentity, '')
})

test('a machine without IPv6 listens on the addresses of IPv4', async () => {
  const hosts: string[] = []
  const refusing: typeof serveHttp = async ({ host }) => {
    hosts.push(host)
    throw Object.assign(new Error('refused'), { code: host === '::' ? 'EAFNOSUPPORT' : 'EADDRINUSE' })
  }
  const { signal } = new AbortController()
  const transport = { request: () => Promise.reject(new Error('not called')) }
  const client = clientOf({ platform, transport, userAgent: 'test' })
  const machine = { serveHttp: refusing, crypto: nodeCrypto() }
  const running = runOperator(
    { name: 'shop-operator', controllers: [] },
    { client, platform, machine, signal },
  )
  await assert.rejects(running, /refused/)
  assert.deepEqual(hosts, ['::', '0.0.0.0'])
})
