import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { isApiError } from '#/api/errors.ts'
import { Cluster } from '#/testing/testing.ts'

const at = { namespace: 'default', name: 'web' }
const logs = '/api/v1/namespaces/default/pods/web/log'
const proxy = '/api/v1/nodes/node-1/proxy'

function podOf(command?: readonly string[], spec: Partial<PodSpec> = {}): Pod {
  const container = { name: 'main', image: 'it', ...(command && { command }) }
  const annotations = { 'simulated.k8ts.io/cpu': '500m', 'simulated.k8ts.io/memory': '1Mi' }
  return { metadata: { ...at, annotations }, spec: { containers: [container], ...spec } }
}

/** The body of a response, or the message of the error. */
async function get({ client }: Cluster, path: string, query = ''): Promise<string> {
  try {
    const response = await client.raw({ method: 'GET', path, query: new URLSearchParams(query) })
    return Buffer.concat(await Array.fromAsync(response.bytes())).toString()
  } catch (error) {
    if (!isApiError(error)) throw error
    return `${error.status.code}: ${error.message}`
  }
}

test('the log of a hollow container is selected as that of a real one', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.client.create(pods, podOf(['sh', '-c', 'echo one; sleep 60; echo two; sleep infinity']))
  await cluster.settle()
  assert.equal(await get(cluster, logs), 'one\n')
  await cluster.clock.advance('70s')
  const check = async (query: string, expected: string | RegExp): Promise<void> => {
    const shown = await get(cluster, logs, query)
    if (typeof expected === 'string') assert.equal(shown, expected, query)
    else assert.match(shown, expected, query)
  }
  await check('', 'one\ntwo\n')
  await check('tailLines=1', 'two\n')
  await check('sinceSeconds=30', 'two\n')
  await check('limitBytes=6', 'one\ntw')
  await check('timestamps=true', /^\d{4}-\S+\.000000000Z one\n\d{4}-\S+Z two\n$/)
  await check('container=main', 'one\ntwo\n')
  await check('container=other', '400: container other is not valid for pod web')
  await check('previous=true', '400: previous terminated container "main" in pod "web" not found')
})

test('the previous log of a restarted hollow container is kept', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.client.create(pods, podOf(['sh', '-c', 'echo hello; sleep 30; exit 3']))
  await cluster.clock.advance('40s')
  const { status } = await cluster.client.get(pods, at)
  assert.equal(status?.containerStatuses?.[0]?.restartCount, 1)
  assert.equal(await get(cluster, logs, 'previous=true'), 'hello\n')
  assert.equal(await get(cluster, logs), 'hello\n')
})

test('a followed log of a hollow container ends when its pod is deleted', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  const { client } = cluster
  await client.create(pods, podOf())
  await cluster.settle()
  const query = new URLSearchParams('follow=true')
  const response = await client.raw({ method: 'GET', path: logs, query })
  const following = Array.fromAsync(response.bytes())
  await client.delete(pods, at)
  await cluster.settle()
  const lines = [
    'simulated container main started, image it',
    'simulated container main exited with code 143',
  ]
  assert.equal(Buffer.concat(await following).toString(), `${lines.join('\n')}\n`)
})

test('a hollow node serves its pods, health, stats and metrics', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.client.create(pods, podOf())
  await cluster.clock.advance('10s')
  const { items } = JSON.parse(await get(cluster, `${proxy}/pods`)) as { readonly items: readonly Pod[] }
  assert.deepEqual(
    items.map(({ metadata }) => metadata.name),
    ['web'],
  )
  assert.equal(await get(cluster, `${proxy}/healthz`), 'ok')
  const summary = JSON.parse(await get(cluster, `${proxy}/stats/summary`))
  assert.equal(summary.node.cpu.usageNanoCores, 500_000_000)
  assert.equal(summary.pods[0].containers[0].memory.workingSetBytes, 2 ** 20)
  assert.match(
    await get(cluster, `${proxy}/metrics`),
    /^kubelet_running_containers\{container_state="running"\} 1$/m,
  )
  assert.match(
    await get(cluster, `${proxy}/metrics/resource`),
    /^pod_cpu_usage_seconds_total\{namespace="default",pod="web"\} 5\.\d+ \d+$/m,
  )
  assert.match(await get(cluster, `${proxy}/configz`), /^404: /)
})

test('a stopped hollow node and an unknown one have no logs', async () => {
  await using cluster = await Cluster.start({ nodes: 1 })
  await cluster.client.create(pods, podOf())
  await cluster.settle()
  await cluster.stopNode('node-1')
  assert.equal(await get(cluster, logs), '500: node node-1 has no kubelet endpoint port')
  await cluster.client.delete(nodes, { name: 'node-1' })
  assert.equal(await get(cluster, logs), '404: nodes "node-1" not found')
})
