/** Node failures, and their effect on the pods of the node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node, Taint } from '#/api/generated/core/v1.ts'
import { events, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { nodeLifecycleController } from './node-lifecycle.ts'
import { planTaints } from './node-lifecycle/taints.ts'
import { taintEvictionController, minTolerationMs } from './taint-eviction.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'

const controllers = [nodeLifecycleController(), taintEvictionController]

function nodeOf(name: string, labels: Readonly<Record<string, string>> = {}): Node {
  return { metadata: { name, labels } }
}

function withReady(node: Node, status: string, nowMs: number): Node {
  const time = new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const ready = { type: 'Ready', status, lastHeartbeatTime: time, lastTransitionTime: time }
  return { ...node, status: { ...node.status, conditions: [ready] } }
}

async function speak(plane: TestControlPlane, name: string): Promise<void> {
  await plane.changeStatus(nodes, name, node => withReady(node, 'True', plane.platform.clock.now()))
}

async function taintsOf(plane: TestControlPlane, name: string): Promise<readonly string[]> {
  const node = (await plane.list(nodes)).find(each => each.metadata.name === name)
  return (node?.spec?.taints ?? []).map(({ key, effect }) => `${key.replace(/^.*\//, '')}:${effect}`)
}

const pod = {
  metadata: { namespace: 'default', name: 'web' },
  spec: {
    nodeName: 'n1',
    containers: [{ name: 'web', image: 'web' }],
    tolerations: [
      {
        key: 'node.kubernetes.io/unreachable',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      },
    ],
  },
}

test('a node without heartbeats is tainted, and its pods are evicted after their toleration', async t => {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(nodes, nodeOf('n1'))
  await plane.create(nodes, nodeOf('n2'))
  await speak(plane, 'n1')
  await plane.create(pods, pod)
  for (let seconds = 0; seconds < 60; seconds += 10) {
    await speak(plane, 'n2')
    await plane.advance(10_000)
  }
  assert.deepEqual(await taintsOf(plane, 'n1'), ['unreachable:NoSchedule', 'unreachable:NoExecute'])
  const left = async (): Promise<number> => {
    return (await plane.list(pods)).filter(each => each.metadata.deletionTimestamp === undefined).length
  }
  for (let seconds = 0; seconds < 240; seconds += 10) {
    await speak(plane, 'n2')
    await plane.advance(10_000)
  }
  assert.equal(await left(), 1)
  for (let seconds = 0; seconds < 60; seconds += 10) {
    await speak(plane, 'n2')
    await plane.advance(10_000)
  }
  assert.equal(await left(), 0)
})

test('a node with heartbeats again loses its taints, and its pods stay', async t => {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(nodes, nodeOf('n1'))
  await plane.create(nodes, nodeOf('n2'))
  await speak(plane, 'n1')
  await plane.create(pods, pod)
  for (let seconds = 0; seconds < 60; seconds += 10) {
    await speak(plane, 'n2')
    await plane.advance(10_000)
  }
  for (let seconds = 0; seconds < 600; seconds += 20) {
    await speak(plane, 'n1')
    await speak(plane, 'n2')
    await plane.advance(20_000)
  }
  assert.deepEqual(await taintsOf(plane, 'n1'), [])
  assert.equal((await plane.list(pods))[0]?.metadata.deletionTimestamp, undefined)
})

test('node lifecycle events are recorded once', async t => {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(nodes, nodeOf('n1'))
  await plane.create(nodes, nodeOf('n2'))
  await speak(plane, 'n1')
  for (let seconds = 0; seconds < 120; seconds += 10) {
    await speak(plane, 'n2')
    await plane.advance(10_000)
  }
  const n1 = (await plane.list(nodes)).find(({ metadata }) => metadata.name === 'n1')
  await plane.run(plane.client.delete(nodes, { name: 'n1' }))
  await plane.settle()
  const told = (await plane.list(events)).filter(({ involvedObject }) => involvedObject.name === 'n1')
  assert.deepEqual(
    told.map(({ reason, message, count, source }) => [reason, message, count, source?.component]),
    [
      ['RegisteredNode', 'Node n1 event: Registered Node n1 in Controller', 1, 'node-controller'],
      ['NodeNotReady', 'Node n1 status is now: NodeNotReady', 1, 'node-controller'],
      ['RemovingNode', 'Node n1 event: Removing Node n1 from Controller', 1, 'node-controller'],
    ],
  )
  assert.ok(told.every(({ involvedObject }) => involvedObject.uid === n1?.metadata.uid))
})

test('no pod is evicted when all nodes are unreachable', async t => {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(nodes, nodeOf('n1'))
  await speak(plane, 'n1')
  await plane.create(pods, pod)
  await plane.advance(600_000)
  assert.deepEqual(await taintsOf(plane, 'n1'), ['unreachable:NoSchedule'])
  assert.equal((await plane.list(pods)).length, 1)
})

test('a cordoned node has the unschedulable taint', async t => {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(nodes, { ...nodeOf('n1'), spec: { unschedulable: true } })
  await speak(plane, 'n1')
  assert.deepEqual(await taintsOf(plane, 'n1'), ['unschedulable:NoSchedule'])
  await plane.change(nodes, 'n1', node => ({ ...node, spec: { ...node.spec, unschedulable: false } }))
  assert.deepEqual(await taintsOf(plane, 'n1'), [])
})

test('foreign taints stay, condition taints follow the conditions', () => {
  const foreign: Taint = { key: 'gpu', effect: 'NoSchedule' }
  const pressed: Node = {
    metadata: {},
    spec: { taints: [foreign, { key: 'node.kubernetes.io/disk-pressure', effect: 'NoSchedule' }] },
    status: { conditions: [{ type: 'MemoryPressure', status: 'True' }] },
  }
  const { taints, isEvicting } = planTaints(pressed, { nowText: 'now', areEvictionsOff: false })
  const memory = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule', timeAdded: 'now' }
  assert.deepEqual(taints, [foreign, memory])
  assert.equal(isEvicting, false)
})

test('minTolerationMs is the shortest toleration of all taints', () => {
  const taint = { key: 'a', effect: 'NoExecute' }
  const forSeconds = (
    tolerationSeconds?: number,
  ): { key: string; operator: string; tolerationSeconds?: number } => {
    return { key: 'a', operator: 'Exists', ...(tolerationSeconds !== undefined && { tolerationSeconds }) }
  }
  assert.equal(minTolerationMs([], []), Infinity)
  assert.equal(minTolerationMs([taint], []), 0)
  assert.equal(minTolerationMs([taint], [forSeconds()]), Infinity)
  assert.equal(minTolerationMs([taint], [forSeconds(5), forSeconds(3), forSeconds()]), 3_000)
  assert.equal(minTolerationMs([taint], [forSeconds(-1)]), 0)
  assert.equal(minTolerationMs([taint, { key: 'b', effect: 'NoExecute' }], [forSeconds(5)]), 0)
})
