/** The three ways of injection, each in a cluster inside the test, with the manifests of the example. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { mutatingWebhookConfigurations } from 'k8ts/api/admissionregistration/v1'
import { configMaps, pods, secrets, type Pod } from 'k8ts/api/core/v1'
import { isApiError } from 'k8ts/api/errors'
import type { Client } from 'k8ts/client'
import { runOperator } from 'k8ts/controller/operator'
import { nodeCrypto, serveHttp } from 'k8ts/platform'
import { Cluster } from 'k8ts/testing'
import { initializerInjector } from './initializer.ts'
import { injectAnnotation, templateKey } from './sidecar.ts'
import { webhookInjector } from './webhook.ts'

const { namespace } = templateKey
const withSidecar = { initContainers: ['proxy', 'migrate'], containers: ['web'], volumes: ['proxy-config'] }
const asCreated = { initContainers: ['migrate'], containers: ['web'], volumes: [] }

function readManifest(name: string): Promise<string> {
  return readFile(join(import.meta.dirname, 'manifests', name), 'utf8')
}

function podOf(name: string, inject?: string): Pod {
  return {
    metadata: { namespace: 'default', name, annotations: inject ? { [injectAnnotation]: inject } : {} },
    spec: {
      initContainers: [{ name: 'migrate', image: 'registry.example.com/migrate:1' }],
      containers: [{ name: 'web', image: 'registry.example.com/web:1' }],
    },
  }
}

function namesIn({ spec }: Pod): typeof withSidecar {
  const names = (list: readonly { readonly name: string }[] = []) => list.map(({ name }) => name)
  return {
    initContainers: names(spec?.initContainers),
    containers: names(spec?.containers),
    volumes: names(spec?.volumes),
  }
}

/** Creates a pod that requests the sidecar, and one that does not. */
async function checkInjection(client: Client): Promise<void> {
  assert.deepEqual(namesIn(await client.create(pods, podOf('injected', 'true'))), withSidecar)
  assert.deepEqual(namesIn(await client.create(pods, podOf('plain'))), asCreated)
  assert.deepEqual(namesIn(await client.create(pods, podOf('refused', 'false'))), asCreated)
}

test('a mutating webhook injects the sidecar, with a certificate that it makes itself', async () => {
  await using cluster = await Cluster.start({ clock: 'real' })
  const { client } = cluster
  await cluster.apply(await readManifest('template.yaml'))
  const port = await freePort()
  const url = `https://127.0.0.1:${port}`
  await cluster.apply(
    (await readManifest('webhook.yaml')).replace(/service:\n(?: {6}.*\n)+/, `url: ${url}/inject\n`),
  )

  // The webhook does not run yet, and its failurePolicy is Fail.
  const early = client.create(pods, podOf('early', 'true'))
  await assert.rejects(
    early,
    error => isApiError(error, 'InternalError') && /failed calling webhook/.test(error.message),
  )
  assert.deepEqual(namesIn(await client.create(pods, podOf('unconcerned'))), asCreated)

  const operator = webhookInjector({ target: { url }, listen: { host: '127.0.0.1', port } })
  const machine = { serveHttp, crypto: nodeCrypto() }
  cluster.run(context => runOperator(operator, { ...context, namespace, machine }))
  await waitForCaBundle(client)
  await cluster.settle()
  await checkInjection(client)
  const secret = await client.get(secrets, { namespace, name: 'sidecar-injector-webhook-certificate' })
  assert.equal(secret.type, 'kubernetes.io/tls')

  // Pods get the current template.
  const changed = (await client.get(configMaps, templateKey)).data?.['template']?.replaceAll(
    'proxy-config',
    'mesh',
  )
  const patch = { data: { template: changed } }
  await client.patch(configMaps, templateKey, { type: 'merge', patch })
  await cluster.settle()
  assert.deepEqual(namesIn(await client.create(pods, podOf('second', 'true'))).volumes, ['mesh'])
})

async function waitForCaBundle(client: Client): Promise<void> {
  const options = { fieldSelector: 'metadata.name=sidecar-injector' }
  for await (const { type, object } of client.watch(mutatingWebhookConfigurations, options)) {
    if (type !== 'BOOKMARK' && object.webhooks?.every(({ clientConfig }) => clientConfig.caBundle)) return
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

test('an initializer injects the sidecar before the pod is visible', async () => {
  await using cluster = await Cluster.start({ nodes: 1, enableAdmissionPlugins: ['Initializers'] })
  const { client } = cluster
  await cluster.apply(await readManifest('template.yaml'))
  await cluster.apply(await readManifest('initializer.yaml'))
  const early = client.create(pods, podOf('early', 'true'))
  await assert.rejects(client.get(pods, { namespace: 'default', name: 'early' }), { reason: 'NotFound' })

  const account = {
    username: `system:serviceaccount:${namespace}:sidecar-initializer`,
    groups: ['system:serviceaccounts'],
  }
  cluster.run(context => runOperator(initializerInjector(), { ...context, namespace }), account)
  assert.deepEqual(namesIn(await early), withSidecar)
  await checkInjection(client)
  await cluster.settle()
  const { items } = await client.list(pods, { namespace: 'default' })
  assert.deepEqual(
    items.map(({ metadata, status }) => `${metadata.name} ${status?.phase}`),
    ['early Running', 'injected Running', 'plain Running', 'refused Running'],
  )
})

test('a MutatingAdmissionPolicy injects the same sidecar without a program', async () => {
  await using cluster = await Cluster.start()
  await cluster.apply(await readManifest('policy.yaml'))
  await cluster.settle()
  const pod = await cluster.client.create(pods, podOf('injected', 'true'))
  const { initContainers, ...others } = namesIn(pod)
  assert.deepEqual(initContainers.toSorted(), withSidecar.initContainers.toSorted())
  assert.deepEqual(others, { containers: ['web'], volumes: ['proxy-config'] })
  assert.deepEqual(namesIn(await cluster.client.create(pods, podOf('plain'))), asCreated)
})
