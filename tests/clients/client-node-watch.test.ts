import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import * as k8s from '@kubernetes/client-node'
import { clusterForFile } from './cluster.ts'

const cluster = await clusterForFile()
const config = new k8s.KubeConfig()
config.loadFromFile(cluster.kubeconfig)
const core = config.makeApiClient(k8s.CoreV1Api)
const namespace = 'watched'
await core.createNamespace({ body: { metadata: { name: namespace } } })
const path = `/api/v1/namespaces/${namespace}/configmaps`
const mergePatch = k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.MergePatch)

function create(name: string, labels: Record<string, string>): Promise<k8s.V1ConfigMap> {
  return core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels } } })
}

/** A queue of observed events, as text. */
class Happenings {
  readonly #seen: string[] = []
  readonly #arrived = new EventTarget()

  add(what: string): void {
    this.#seen.push(what)
    this.#arrived.dispatchEvent(new Event('arrived'))
  }

  async next(): Promise<string> {
    if (this.#seen.length === 0) await once(this.#arrived, 'arrived', { signal: AbortSignal.timeout(60_000) })
    return this.#seen.shift()!
  }
}

function nameOf(object: k8s.KubernetesObject): string {
  return object.metadata?.name ?? ''
}

test('an informer of client-node lists the objects and gets every event', async () => {
  await create('before', { set: 'informed' })
  const informer = k8s.makeInformer<k8s.V1ConfigMap>(
    config,
    path,
    () => {
      return core.listNamespacedConfigMap({ namespace, labelSelector: 'set=informed' })
    },
    'set=informed',
  )
  const heard = new Happenings()
  for (const verb of ['add', 'update', 'delete'] as const) {
    informer.on(verb, object => heard.add(`${verb} ${nameOf(object)}`))
  }
  informer.on('error', error => heard.add(`error ${String(error)}`))
  await informer.start()
  try {
    assert.equal(await heard.next(), 'add before')
    await create('after', { set: 'informed' })
    assert.equal(await heard.next(), 'add after')
    await core.patchNamespacedConfigMap({ namespace, name: 'after', body: { data: { a: 'b' } } }, mergePatch)
    assert.equal(await heard.next(), 'update after')
    assert.deepEqual(informer.get('after', namespace)?.data, { a: 'b' })
    await core.deleteNamespacedConfigMap({ namespace, name: 'before' })
    assert.equal(await heard.next(), 'delete before')
    const elsewhere = { metadata: { labels: { set: 'else' } } }
    await core.patchNamespacedConfigMap({ namespace, name: 'after', body: elsewhere }, mergePatch)
    assert.equal(await heard.next(), 'delete after')
    assert.deepEqual(informer.list(namespace), [])
  } finally {
    await informer.stop()
  }
})

test('a watch of client-node sends initial events, the bookmark and later events', async () => {
  await create('one', { set: 'streamed' })
  const heard = new Happenings()
  const query = {
    labelSelector: 'set=streamed',
    allowWatchBookmarks: true,
    sendInitialEvents: true,
    resourceVersionMatch: 'NotOlderThan',
  }
  const hear = (type: string, object: k8s.KubernetesObject): void => {
    heard.add(`${type} ${nameOf(object) || Object.keys(object.metadata?.annotations ?? {}).join()}`)
  }
  const watch = await new k8s.Watch(config).watch(path, query, hear, () => heard.add('end'))
  assert.equal(await heard.next(), 'ADDED one')
  assert.equal(await heard.next(), 'BOOKMARK k8s.io/initial-events-end')
  await create('two', { set: 'streamed' })
  await core.deleteNamespacedConfigMap({ namespace, name: 'one' })
  assert.deepEqual([await heard.next(), await heard.next()], ['ADDED two', 'DELETED one'])
  watch.abort()
  assert.equal(await heard.next(), 'end')
})

test('a watch from a resourceVersion replays later events and ends at its timeout', async () => {
  const first = await create('old', { set: 'replayed' })
  await core.deleteNamespacedConfigMap({ namespace, name: 'old' })
  await create('new', { set: 'replayed' })
  const heard = new Happenings()
  const query = {
    labelSelector: 'set=replayed',
    resourceVersion: first.metadata?.resourceVersion,
    timeoutSeconds: 1,
  }
  const hear = (type: string, object: k8s.KubernetesObject): void => heard.add(`${type} ${nameOf(object)}`)
  await new k8s.Watch(config).watch(path, query, hear, error => {
    heard.add(error === k8s.Watch.SERVER_SIDE_CLOSE || error === null ? 'end' : `error ${String(error)}`)
  })
  assert.deepEqual(
    [await heard.next(), await heard.next(), await heard.next()],
    ['DELETED old', 'ADDED new', 'end'],
  )
})

test('a watch from an invalid resourceVersion fails with a Status', async () => {
  const heard = new Happenings()
  await new k8s.Watch(config).watch(
    path,
    { resourceVersion: 'x' },
    () => heard.add('event'),
    (error: unknown) => {
      heard.add(`error ${(error as { readonly statusCode?: number } | null)?.statusCode}`)
    },
  )
  // As Kubernetes answers it.
  assert.equal(await heard.next(), 'error 500')
})
