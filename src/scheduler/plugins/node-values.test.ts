import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withPod, type NodeInfo } from '../node-info.ts'
import { podInfoOf, type PodInfo } from '../pod-info.ts'
import { SchedulerCache } from '../scheduler-cache.ts'
import { nodeOf, podOf, stored } from '../test-cluster.ts'
import { NodeValues } from './node-values.ts'

function clusterOf(names: readonly string[]): SchedulerCache {
  const cache = new SchedulerCache()
  for (const name of names) cache.setNode(stored(nodeOf(name)))
  return cache
}

function podNamed(name: string): PodInfo {
  return podInfoOf(stored(podOf(name, { uid: name, cpu: '1' })))
}

test('only changed nodes are computed again', () => {
  const cache = clusterOf(['a', 'b', 'c'])
  const computed: string[] = []
  const values = new NodeValues(({ name, pods }) => {
    computed.push(name)
    return pods.length
  })
  const take = (): readonly [readonly number[], string] => {
    const snapshot = cache.snapshot()
    const numbers = snapshot.nodes.map(values.at(snapshot))
    return [numbers, computed.splice(0).join()]
  }
  assert.deepEqual(take(), [[0, 0, 0], 'a,b,c'])
  assert.deepEqual(take(), [[0, 0, 0], ''])
  cache.assume(podNamed('p'), 'b')
  assert.deepEqual(take(), [[0, 1, 0], 'b'])
  cache.setNode(stored(nodeOf('d')))
  assert.deepEqual(take(), [[0, 1, 0, 0], 'a,b,c,d'], 'another order of nodes')
})

test('nodes in any order, hypothetical ones, and those of an older snapshot have their own values', () => {
  const cache = clusterOf(['a', 'b', 'c'])
  const values = new NodeValues(({ pods }) => pods.length)
  const before = cache.snapshot()
  const valueBefore = values.at(before)
  const [a, b, c] = before.nodes as readonly [NodeInfo, NodeInfo, NodeInfo]
  assert.deepEqual([c, a, b].map(valueBefore), [0, 0, 0])
  assert.equal(valueBefore(withPod(b, podNamed('p'))), 1)
  cache.assume(podNamed('p'), 'b')
  const after = cache.snapshot()
  const valueAfter = values.at(after)
  assert.deepEqual(after.nodes.map(valueAfter), [0, 1, 0])
  assert.equal(valueBefore(b), 0)
  assert.equal(valueAfter(b), 0)
})
