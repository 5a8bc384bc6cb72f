/** Resource metrics of nodes and pods, as used by `kubectl top` and autoscalers. */
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { SimulatedRuntime } from '#/cri/simulated.ts'
import { kubectl } from './kubectl.ts'
import { StreamingCluster } from './streaming-cluster.ts'

describe('top', async () => {
  const cluster = await StreamingCluster.start({ after })
  const { client, node } = cluster
  const runtime = cluster.runtime as SimulatedRuntime
  runtime.setScript('busy', { cpuMillicores: 250, memoryBytes: 64 * 1024 * 1024 })
  runtime.setScript('idle', { cpuMillicores: 0, memoryBytes: 8 * 1024 * 1024 })
  await node.run('one', [{ name: 'busy' }, { name: 'idle' }])
  await node.run('two', [{ name: 'idle' }])
  const known = await client.get(nodes, { name: 'node-0' })
  const allocatable = { cpu: '2', memory: '4Gi' }
  await client.updateStatus(nodes, {
    ...known,
    status: { ...known.status, allocatable, capacity: allocatable },
  })
  const get = async (path: string): Promise<unknown> =>
    JSON.parse(
      (await kubectl(cluster, ['get', '--raw', `/apis/metrics.k8s.io/v1beta1${path}`])).stdout || 'null',
    )
  const lines = async (...words: readonly string[]): Promise<readonly string[]> => {
    const { stdout, stderr, code } = await kubectl(cluster, words)
    assert.equal(code, 0, stderr)
    return stdout
      .trim()
      .split('\n')
      .map(line => line.replaceAll(/ +/g, ' ').trim())
  }

  test('kubectl top pods shows each pod, and each container with --containers', async () => {
    const [head, one, two] = await lines('top', 'pods')
    assert.equal(head, 'NAME CPU(cores) MEMORY(bytes)')
    assert.match(one ?? '', /^one 2[3-7]\dm 72Mi$/)
    assert.match(two ?? '', /^two \d+m 8Mi$/)
    const containers = await lines('top', 'pod', 'one', '--containers')
    assert.match(
      containers.join(),
      /^POD NAME CPU\(cores\) MEMORY\(bytes\),one busy 2\d\dm 64Mi,one idle \d+m 8Mi$/,
    )
  })

  test('kubectl top nodes shows each node with metrics', async () => {
    await client.create(nodes, { metadata: { name: 'silent' }, status: { addresses: [] } })
    const shown = await lines('top', 'nodes')
    assert.match(shown[0] ?? '', /^NAME CPU\(cores\) CPU\S+ MEMORY\(bytes\) MEMORY\S+$/)
    assert.match(shown[1] ?? '', /^node-0 \d+m \d+% \d+Mi \d+%$/)
  })

  test('PodMetrics and NodeMetrics are served by name, by label, as tables and in discovery', async () => {
    const pod = await client.get(pods, { namespace: 'default', name: 'one' })
    await client.update(pods, { ...pod, metadata: { ...pod.metadata, labels: { app: 'one' } } })
    const labelled = (await get('/namespaces/default/pods?labelSelector=app%3Done')) as List
    assert.deepEqual(
      [labelled.kind, labelled.items.map(({ metadata }) => metadata.name)],
      ['PodMetricsList', ['one']],
    )
    const single = (await get('/namespaces/default/pods/two')) as Item
    assert.deepEqual([single.kind, single.containers?.[0]?.name], ['PodMetrics', 'idle'])
    assert.match(single.containers?.[0]?.usage.cpu ?? '', /^\d+n$/)
    assert.equal(single.containers?.[0]?.usage.memory, '8192Ki')
    assert.equal(((await get('/pods')) as List).items.length, 2)
    const missing = await kubectl(cluster, ['get', 'pods.metrics.k8s.io', 'nobody'])
    assert.match(missing.stderr, /pods.metrics.k8s.io "nobody" not found/)
    const table = await lines('get', 'nodes.metrics.k8s.io')
    assert.match(table.join(), /^NAME CPU MEMORY WINDOW,node-0 \d+n \d+Ki 10s$/)
    const resources = await lines('api-resources', '--api-group=metrics.k8s.io', '--no-headers')
    assert.deepEqual(resources, [
      'nodes metrics.k8s.io/v1beta1 false NodeMetrics',
      'pods metrics.k8s.io/v1beta1 true PodMetrics',
    ])
    const explained = await lines('explain', 'pods', '--api-version=metrics.k8s.io/v1beta1')
    assert.ok(
      explained.some(line => line.startsWith('containers')),
      explained.join('\n'),
    )
  })
})

interface Item {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly containers?: readonly { readonly name: string; readonly usage: Readonly<Record<string, string>> }[]
}

interface List {
  readonly kind: string
  readonly items: readonly Item[]
}
