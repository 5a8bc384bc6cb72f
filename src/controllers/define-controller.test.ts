import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withCondition, type Condition } from '#/api/conditions.ts'
import type { Deployment } from '#/api/generated/apps/v1.ts'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import { configMaps, events, namespaces, secrets } from '#/api/generated/core/v1-resources.ts'
import { controllerReference, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { runOperator } from '#/operator/operator.ts'
import { Cluster } from '#/testing/testing.ts'
import { defineController, watch, type ControllerOptions } from './define-controller.ts'

interface Website extends KubernetesObject {
  readonly spec: { readonly replicas: number }
  readonly status?: { readonly readyReplicas?: number; readonly conditions?: readonly Condition[] }
}

const websites: Resource<Website> = {
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  plural: 'websites',
  singular: 'website',
  scope: 'Namespaced',
  shortNames: [],
  categories: [],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  schema: { type: 'struct', name: '', fields: new Map(), atomic: false, preserveUnknownFields: true },
  subresources: new Map(),
  storage: { group: 'example.com', version: 'v1' },
}

const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: websites.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Website, plural: websites, singular: website}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const finalizer = 'example.com/backup'
const at = { namespace: 'default', name: 'blog' }

/** The image is in a ConfigMap of the same name; the deleted site is recorded in another one. */
const usual: ControllerOptions<Website> = {
  name: 'website-controller',
  resource: websites,
  owns: [deployments],
  watches: [watch(configMaps, map => [`${map.metadata.namespace}/${map.metadata.name}`])],
  reconcile: async ({ object, owned, lister, client, key, recorder, setStatus }) => {
    const image = lister(configMaps).get(key)?.data?.['image'] ?? 'nginx'
    const desired = deploymentOf(object, image)
    const [current] = owned(deployments)
    if (current === undefined) {
      await client.create(deployments, desired)
      recorder.record(object, { type: 'Normal', reason: 'Created', message: 'created the Deployment' })
    } else if (imageOf(current) !== image || current.spec?.replicas !== object.spec.replicas) {
      await client.update(deployments, { ...current, spec: desired.spec! })
    }
    const readyReplicas = current?.status?.readyReplicas ?? 0
    const status = readyReplicas === object.spec.replicas ? 'True' : 'False'
    const ready = { type: 'Ready', status, reason: 'Counted', message: `${readyReplicas} ready` }
    await setStatus({ readyReplicas, conditions: withCondition(object.status?.conditions, ready) })
  },
  finalizer: {
    name: finalizer,
    finalize: async ({ object, client, lister }) => {
      const metadata = { namespace: 'default', name: `${object.metadata.name}-deleted` }
      if (lister(configMaps).get('default/hold') !== undefined) return { requeueAfterMs: 60_000 }
      await client.apply(configMaps, { metadata }, { fieldManager: 'test' })
      return undefined
    },
  },
}

function deploymentOf(site: Stored<Website>, image: string): Deployment {
  const { namespace = '', name } = site.metadata
  const labels = { site: name }
  return {
    metadata: { namespace, name, ownerReferences: [controllerReference(site)] },
    spec: {
      replicas: site.spec.replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'web', image }] } },
    },
  }
}

function imageOf({ spec }: Deployment): string | undefined {
  return spec?.template.spec?.containers[0]?.image
}

async function startCluster(): Promise<Cluster> {
  const cluster = await Cluster.start({ nodes: 2 })
  await cluster.apply(definition)
  await cluster.settle()
  return cluster
}

function runController(cluster: Cluster, options: ControllerOptions<Website>) {
  const operator = { name: 'website-operator', controllers: [defineController(options)] }
  return cluster.run(context => runOperator(operator, context))
}

const site = (namespace: string, replicas: number): Website => {
  return { metadata: { namespace, name: 'blog' }, spec: { replicas } }
}

test('owned and watched objects enqueue their object, whose status is written', async () => {
  await using cluster = await startCluster()
  const { client } = cluster
  runController(cluster, usual)
  await client.create(websites, site('default', 2))
  await cluster.settle()
  const made = await client.get(websites, at)
  assert.deepEqual(made.metadata.finalizers, [finalizer])
  assert.deepEqual(made.status, {
    readyReplicas: 2,
    conditions: [{ type: 'Ready', status: 'True', reason: 'Counted', message: '2 ready' }],
  })
  const recorded = await client.list(events, { fieldSelector: 'involvedObject.kind=Website' })
  assert.deepEqual(
    recorded.items.map(({ reason, source }) => [reason, source?.component]),
    [['Created', 'website-controller']],
  )
  await client.create(configMaps, { metadata: at, data: { image: 'blog:2' } })
  await cluster.settle()
  assert.equal(imageOf(await client.get(deployments, at)), 'blog:2')
  await client.delete(deployments, at)
  await cluster.settle()
  assert.equal((await client.get(deployments, at)).status?.readyReplicas, 2)
})

test('a finalizer delays the deletion until it is done', async () => {
  await using cluster = await startCluster()
  const { client } = cluster
  runController(cluster, usual)
  await client.create(websites, site('default', 1))
  await client.create(configMaps, { metadata: { namespace: 'default', name: 'hold' } })
  await cluster.settle()
  await client.delete(websites, at)
  await cluster.clock.advance('5m')
  assert.ok(await client.find(websites, at))
  await client.delete(configMaps, { namespace: 'default', name: 'hold' })
  await cluster.clock.advance('2m')
  assert.equal(await client.find(websites, at), undefined)
  assert.ok(await client.find(configMaps, { namespace: 'default', name: 'blog-deleted' }))
  assert.equal(await client.find(deployments, at), undefined, 'garbage collected')
})

test('a controller of one namespace sees only that namespace', async () => {
  await using cluster = await startCluster()
  const { client } = cluster
  runController(cluster, { ...usual, namespace: 'default' })
  await client.create(namespaces, { metadata: { name: 'other' } })
  for (const namespace of ['default', 'other']) await client.create(websites, site(namespace, 1))
  await cluster.settle()
  assert.equal((await client.get(websites, at)).status?.readyReplicas, 1)
  const other = await client.get(websites, { ...at, namespace: 'other' })
  assert.deepEqual([other.status, other.metadata.finalizers], [undefined, undefined])
})

test('a kind that was not declared cannot be listed', async () => {
  await using cluster = await startCluster()
  const messages: string[] = []
  runController(cluster, {
    name: 'lister',
    resource: websites,
    reconcile: async ({ lister }) => {
      try {
        lister(secrets)
      } catch (error) {
        messages.push((error as Error).message)
      }
    },
  })
  await cluster.client.create(websites, site('default', 1))
  await cluster.settle()
  assert.deepEqual(messages, ['controller lister neither owns nor watches secrets'])
})

test('two replicas: the second continues when the first stops', async () => {
  await using cluster = await startCluster()
  const { client } = cluster
  const first = runController(cluster, usual)
  await cluster.settle()
  runController(cluster, usual)
  await client.create(websites, site('default', 1))
  await cluster.settle()
  await first.stop()
  await client.patch(websites, at, { type: 'merge', patch: { spec: { replicas: 3 } } })
  await cluster.clock.advance('10s')
  assert.equal((await client.get(deployments, at)).spec?.replicas, 3, 'the lease was released')
})
