import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { test } from 'node:test'
import * as k8s from '@kubernetes/client-node'
import { configMaps, nodes } from '#/api/generated/core/v1-resources.ts'
import { Cluster } from '#/testing/testing.ts'

/** Sockets and threads that keep this process alive. */
function held(): readonly string[] {
  return process.getActiveResourcesInfo().filter(name => /TCP|Server|Worker|MessagePort/.test(name))
}

function configOf(path: string): k8s.KubeConfig {
  const config = new k8s.KubeConfig()
  config.loadFromFile(path)
  return config
}

async function isRefused(server: string): Promise<boolean> {
  const { hostname, port } = new URL(server)
  const socket = connect(Number(port), hostname)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  socket.once('connect', () => resolve(false)).once('error', () => resolve(true))
  const refused = await promise
  socket.destroy()
  return refused
}

test('a testing cluster serves other clients by its kubeconfig and leaves no file', async () => {
  const cluster = await Cluster.start({ nodes: 1, clock: 'real' })
  const before = held()
  const [path, same] = await Promise.all([cluster.kubeconfig(), cluster.kubeconfig()])
  assert.equal(path, same)
  assert.ok(held().length > before.length, 'it listens only from now on')
  const config = configOf(path)
  const server = config.getCurrentCluster()?.server ?? ''
  assert.match(server, /^https:\/\/127\.0\.0\.1:\d+$/)
  const core = config.makeApiClient(k8s.CoreV1Api)
  await core.createNamespacedPod({
    namespace: 'default',
    body: { metadata: { name: 'web' }, spec: { containers: [{ name: 'web', image: 'web' }] } },
  })
  await cluster.settle()
  const pod = await core.readNamespacedPod({ namespace: 'default', name: 'web' })
  assert.equal(pod.status?.phase, 'Running')
  assert.deepEqual(before, [], 'a cluster by itself has no sockets')
  await cluster.stop()
  assert.equal(existsSync(dirname(path)), false)
  assert.equal(await isRefused(server), true)
})

test('a stopping testing cluster ends the watches of other clients', async () => {
  const cluster = await Cluster.start({ clock: 'real' })
  const config = configOf(await cluster.kubeconfig())
  const ended = Promise.withResolvers<'ended'>()
  const begun = Promise.withResolvers<void>()
  await new k8s.Watch(config).watch(
    '/api/v1/namespaces',
    {},
    () => begun.resolve(),
    () => ended.resolve('ended'),
  )
  await begun.promise
  await cluster.stop()
  assert.equal(await ended.promise, 'ended')
})

test('two testing clusters with kubeconfigs are separate', async () => {
  await using east = await Cluster.start({ clock: 'real' })
  await using west = await Cluster.start({ clock: 'real' })
  const [first, second] = await Promise.all([east.kubeconfig(), west.kubeconfig()])
  const name = 'only-east'
  await configOf(first)
    .makeApiClient(k8s.CoreV1Api)
    .createNamespacedConfigMap({ namespace: 'default', body: { metadata: { name } } })
  assert.ok(await east.client.find(configMaps, { namespace: 'default', name }))
  const core = configOf(second).makeApiClient(k8s.CoreV1Api)
  await assert.rejects(core.readNamespacedConfigMap({ namespace: 'default', name }), { code: 404 })
  // The certificate of one cluster is not valid for another.
  const mixed = configOf(first)
  mixed.clusters = configOf(second).clusters
  await assert.rejects(mixed.makeApiClient(k8s.CoreV1Api).listNode(), { code: 401 })
})

test('the embedded store of a testing cluster is removed with it', async () => {
  const cluster = await Cluster.start({ nodes: 2, clock: 'real', store: 'embedded' })
  const folder = dirname(await cluster.kubeconfig())
  assert.ok(existsSync(`${folder}/store`))
  const { items } = await cluster.client.list(nodes)
  assert.deepEqual(
    items.map(node => node.status?.conditions?.find(({ type }) => type === 'Ready')?.status),
    ['True', 'True'],
  )
  await cluster.stop()
  assert.equal(existsSync(folder), false)
  assert.deepEqual(held(), [])
})
