/** Nodes that become unreachable, return, or are added: processes that take minutes, in virtual time. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { events, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { Cluster } from '#/testing/testing.ts'

function template(app: string): string {
  const pod = `metadata: { labels: { app: ${app} } }, spec: { containers: [{ name: ${app}, image: ${app} }] }`
  return `selector: { matchLabels: { app: ${app} } }, template: { ${pod} }`
}

const replicated = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec: { replicas: 3, ${template('web')} }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec: { replicas: 3, serviceName: db, ${template('db')} }
`

const daemons = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: agent }
spec: { ${template('agent')} }
`

/** Pods as `web on node-1: Running`, sorted. */
async function shown(cluster: Cluster): Promise<readonly string[]> {
  const { items } = await cluster.client.list(pods)
  return items.map(show).sort()
}

function show({ metadata, spec, status }: Pod): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
  const state = metadata.deletionTimestamp ? 'Terminating' : ready ? 'Ready' : status?.phase
  const name = metadata.name?.startsWith('db') ? metadata.name : metadata.labels?.['app']
  return `${name} on ${spec?.nodeName}: ${state}`
}

async function taintsOf(cluster: Cluster, name: string): Promise<readonly string[]> {
  const { spec } = await cluster.client.get(nodes, { name })
  return (spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`)
}

/** Each of the three nodes has a pod of every workload. */
async function startWithWorkloads(): Promise<Cluster> {
  const cluster = await Cluster.start({ nodes: 3 })
  await cluster.apply([replicated, daemons].join('---'))
  await cluster.settle()
  return cluster
}

describe('a node that stops', () => {
  test('a silent node is tainted within a minute, and its pods are evicted five minutes later', async () => {
    await using cluster = await startWithWorkloads()
    const before = await shown(cluster)
    assert.ok(before.includes('web on node-2: Ready') && before.includes('agent on node-2: Ready'))
    await cluster.stopNode('node-2')
    await cluster.clock.advance('30s')
    assert.deepEqual(await shown(cluster), before, 'half a minute may be anything')

    await cluster.clock.advance('30s')
    assert.deepEqual(await taintsOf(cluster, 'node-2'), [
      'node.kubernetes.io/unreachable:NoSchedule',
      'node.kubernetes.io/unreachable:NoExecute',
    ])
    const silent = (line: string): string => line.replace(/(on node-2): Ready/, '$1: Running')
    assert.deepEqual(await shown(cluster), before.map(silent).sort(), 'nobody is sent there any more')

    await cluster.clock.advance('5m30s')
    const after = await shown(cluster)
    assert.equal(after.filter(line => /^web on node-[13]: Ready$/.test(line)).length, 3)
    assert.deepEqual(
      after.filter(line => line.includes('node-2')),
      before.filter(line => line.includes('node-2')).map(leftBehind),
      'nobody knows whether they have ended',
    )
    // A StatefulSet never has two pods with the same name while the first may still run.
    assert.equal(after.filter(line => line.startsWith('db-')).length, 3)
    const { items } = await cluster.client.list(events)
    const reasons = new Set(items.map(({ reason }) => reason))
    for (const reason of ['NodeNotReady', 'TaintManagerEviction']) assert.ok(reasons.has(reason), reason)
  })

  test('a node that returns becomes ready again, and its evicted pods are terminated', async () => {
    await using cluster = await startWithWorkloads()
    const before = await shown(cluster)
    await cluster.stopNode('node-2')
    await cluster.clock.advance('10m')
    cluster.startNode({ name: 'node-2' })
    await cluster.clock.advance('1m')
    assert.deepEqual(await taintsOf(cluster, 'node-2'), [])
    const after = await shown(cluster)
    assert.deepEqual(
      after.filter(line => !line.endsWith(': Ready')),
      [],
    )
    const counts = (lines: readonly string[]): readonly string[] =>
      lines.map(line => line.replace(/ on.*/, '')).sort()
    assert.deepEqual(counts(after), counts(before))
  })

  test('a node that returns before the eviction keeps its pods', async () => {
    await using cluster = await startWithWorkloads()
    const uids = async (): Promise<unknown> => {
      const { items } = await cluster.client.list(pods)
      return items.map(({ metadata, status }) => [metadata.uid, status?.containerStatuses?.[0]?.restartCount])
    }
    const before = await uids()
    await cluster.stopNode('node-2')
    await cluster.clock.advance('4m')
    cluster.startNode({ name: 'node-2' })
    await cluster.clock.advance('10m')
    assert.deepEqual(await uids(), before)
    assert.deepEqual(
      (await shown(cluster)).filter(line => !line.endsWith(': Ready')),
      [],
    )
  })

  test('deleting a node deletes its pods', async () => {
    await using cluster = await startWithWorkloads()
    await cluster.stopNode('node-2')
    await cluster.client.delete(nodes, { name: 'node-2' })
    await cluster.clock.advance('3m')
    const after = await shown(cluster)
    assert.deepEqual(
      after.filter(line => line.includes('node-2')),
      [],
    )
    assert.deepEqual(
      after.filter(line => !line.startsWith('agent')).map(line => line.replace(/ on.*:/, '')),
      ['db-0 Ready', 'db-1 Ready', 'db-2 Ready', 'web Ready', 'web Ready', 'web Ready'],
    )
  })
})

test('a new node gets DaemonSet pods and unschedulable pods', async () => {
  await using cluster = await Cluster.start({ nodes: [{ capacity: { pods: '2' } }] })
  await cluster.apply(daemons)
  await cluster.settle()
  await cluster.apply(replicated)
  await cluster.settle()
  const waiting = (lines: readonly string[]): number =>
    lines.filter(line => line.endsWith(': Pending')).length
  assert.ok(waiting(await shown(cluster)) > 0)
  const name = cluster.startNode()
  await cluster.settle()
  const after = await shown(cluster)
  assert.equal(waiting(after), 0)
  assert.ok(after.includes(`agent on ${name}: Ready`))
})

/** Only the DaemonSet pods tolerate the taint and are not terminated. */
function leftBehind(line: string): string {
  return line.replace(': Ready', line.startsWith('agent') ? ': Running' : ': Terminating')
}
