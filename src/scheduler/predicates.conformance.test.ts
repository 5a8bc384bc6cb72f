/** The conformance tests of scheduler predicates, run against a scheduler with a real API server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { nodeOf, podOf, startTestCluster, type TestCluster } from './test-cluster.ts'

async function isUnschedulable(cluster: TestCluster, name: string): Promise<boolean> {
  const { spec, status } = await cluster.getPod(name)
  const condition = status?.conditions?.find(({ type }) => type === 'PodScheduled')
  return !spec?.nodeName && condition?.status === 'False' && condition.reason === 'Unschedulable'
}

test('Scheduler, resource limits: pods whose requests exceed the free capacity are not scheduled', async t => {
  const cluster = await startTestCluster(t)
  await cluster.addNodes(nodeOf('a', { cpu: '2' }), nodeOf('b', { cpu: '4' }))
  // Every node is filled to 70 percent, as in the conformance suite.
  await cluster.addPods(
    podOf('filler-a', { cpu: '1400m', nodeSelector: { 'kubernetes.io/hostname': 'a' } }),
    podOf('filler-b', { cpu: '2800m', nodeSelector: { 'kubernetes.io/hostname': 'b' } }),
  )
  await cluster.addPods(podOf('additional', { cpu: '2' }), podOf('small', { cpu: '1' }))
  assert.ok(await isUnschedulable(cluster, 'additional'))
  assert.deepEqual(await cluster.places(), {
    'filler-a': 'a',
    'filler-b': 'b',
    'additional': '',
    'small': 'b',
  })
})

test('Scheduler, resource limits: pod overhead counts', async t => {
  const cluster = await startTestCluster(t)
  await cluster.addNodes(nodeOf('a', { others: { 'example.com/beardsecond': '1000' } }))
  const overhead = { 'example.com/beardsecond': '250' }
  const podWith = (name: string, amount: string): Pod =>
    podOf(name, { others: { 'example.com/beardsecond': amount }, overhead })
  await cluster.addPods(podWith('filler', '500'))
  await cluster.addPods(podWith('additional', '200'))
  assert.deepEqual(await cluster.places(), { filler: 'a', additional: '' })
  assert.ok(await isUnschedulable(cluster, 'additional'))
})

test('Scheduler, node selector matching: the pod goes to the node with the label', async t => {
  const cluster = await startTestCluster(t)
  await cluster.addNodes(nodeOf('a'), nodeOf('b'), nodeOf('c'))
  const label = { 'kubernetes.io/e2e-1234': '42' }
  await cluster.change(nodes, 'b', node => ({
    ...node,
    metadata: { ...node.metadata, labels: { ...node.metadata.labels, ...label } },
  }))
  await cluster.addPods(podOf('with-labels', { nodeSelector: label }))
  assert.deepEqual(await cluster.places(), { 'with-labels': 'b' })
})

test('Scheduler, node selector not matching: the pod is not scheduled', async t => {
  const cluster = await startTestCluster(t)
  await cluster.addNodes(nodeOf('a'), nodeOf('b'))
  await cluster.addPods(podOf('restricted-pod', { nodeSelector: { label: 'nonempty' } }))
  assert.ok(await isUnschedulable(cluster, 'restricted-pod'))
})

test('Scheduling, HostPort and Protocol match, HostIPs different but one is default HostIP (0.0.0.0)', async t => {
  const cluster = await startTestCluster(t)
  await cluster.addNodes(nodeOf('a'), nodeOf('b'))
  const podAt = (name: string, hostIP: string): Pod => {
    const ports = [{ containerPort: 8080, hostPort: 54_322, protocol: 'TCP', ...(hostIP && { hostIP }) }]
    return podOf(name, {
      containers: [{ name: 'agnhost', image: 'agnhost', ports }],
      nodeSelector: { 'kubernetes.io/hostname': 'a' },
    })
  }
  await cluster.addPods(podAt('pod4', ''))
  await cluster.addPods(podAt('pod5', '127.0.0.1'))
  assert.deepEqual(await cluster.places(), { pod4: 'a', pod5: '' })
  assert.ok(await isUnschedulable(cluster, 'pod5'))
})
