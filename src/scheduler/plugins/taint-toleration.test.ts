import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Node, Pod, Taint, Toleration } from '#/api/generated/core/v1.ts'
import { nodeOf, podOf } from '../test-cluster.ts'
import { nodeUnschedulable } from './node-unschedulable.ts'
import { taintToleration } from './taint-toleration.ts'
import { isRequeuedBy, pluginOf, statusesOf, scoresOf, snapshotOf } from './test-plugin.ts'

const plugin = pluginOf(taintToleration)

const effects: Readonly<Record<string, string>> = { S: 'NoSchedule', E: 'NoExecute', P: 'PreferNoSchedule' }

/** Taints: `gpu=a:S` has the effect NoSchedule, `:E` NoExecute, `:P` PreferNoSchedule. */
function nodeWith(name: string, text: string): Node {
  const taints = words(text).map((word): Taint => {
    const [, key = '', value, effect = ''] = /^(.*?)(?:=(.*))?:(\w)$/.exec(word) ?? []
    return { key, ...(value && { value }), effect: effects[effect]! }
  })
  return nodeOf(name, { spec: { taints } })
}

/** Tolerations: `gpu=a:S` is exact, `gpu:S` matches any value, `gpu` any value and effect, `*` everything. */
function podWith(text: string): Pod {
  const tolerations = words(text).map((word): Toleration => {
    if (word === '*') return { operator: 'Exists' }
    const [, key = '', value, effect] = /^(.*?)(?:=(.*?))?(?::(\w))?$/.exec(word) ?? []
    const how = value === undefined ? { operator: 'Exists' } : { operator: 'Equal', value }
    return { key, ...how, ...(effect && { effect: effects[effect]! }) }
  })
  return podOf('p', { tolerations })
}

function words(text: string): readonly string[] {
  return text.split(' ').filter(word => word !== '')
}

const cases: readonly (readonly [tolerations: string, taints: string, fits: boolean])[] = [
  ['', '', true],
  ['', 'gpu=a:S', false],
  ['', 'gpu:E', false],
  ['', 'gpu:P', true],
  ['gpu=a:S', 'gpu=a:S', true],
  ['gpu=b:S', 'gpu=a:S', false],
  ['gpu:S', 'gpu=a:S', true],
  ['gpu:E', 'gpu=a:S', false],
  ['gpu', 'gpu=a:S gpu=b:E', true],
  ['gpu', 'gpu=a:S disk:S', false],
  ['gpu disk', 'gpu=a:S disk:S', true],
  ['*', 'gpu=a:S disk:E net:P', true],
  ['gpu=', 'gpu:S', true],
]

for (const [tolerations, taints, fits] of cases) {
  test(`a pod that tolerates ${tolerations || 'nothing'} and a node with ${taints || 'no taints'}`, () => {
    const statuses = statusesOf(plugin, podWith(tolerations), snapshotOf([nodeWith('n', taints)]))
    assert.deepEqual(statuses, { n: fits ? '' : 'node(s) had untolerated taint(s)!' })
  })
}

const scores: readonly (readonly [
  tolerations: string,
  taints: readonly string[],
  want: readonly number[] | undefined,
])[] = [
  ['', ['', ''], undefined],
  ['', ['a:P', ''], [0, 100]],
  ['', ['a:P b:P', 'a:P', ''], [0, 50, 100]],
  ['a:P', ['a:P b:P', 'a:P', 'c:P d:P'], [50, 100, 0]],
  ['a', ['a:P', 'b:P'], [100, 0]],
  // Only PreferNoSchedule taints count, and only tolerations for them.
  ['a:S', ['a:P', ''], [0, 100]],
  ['*', ['a:P', 'b:P'], [100, 100]],
  ['', ['a:P b:P c:P', 'a:P'], [0, 67]],
]

for (const [tolerations, taints, want] of scores) {
  test(`scores of a pod that tolerates ${tolerations || 'nothing'} on ${JSON.stringify(taints)}`, () => {
    const snapshot = snapshotOf(taints.map((each, index) => nodeWith(`n${index}`, each)))
    const given = scoresOf(plugin, podWith(tolerations), snapshot)
    assert.deepEqual(given && Object.values(given), want)
  })
}

test('TaintToleration: a node that becomes tolerated requeues a pod', () => {
  const [closed, open, other] = [nodeWith('n', 'a:S'), nodeWith('n', ''), nodeWith('n', 'a:S b:S')]
  const pod = podWith('')
  assert.ok(isRequeuedBy(plugin, pod, 'nodes', { after: open }))
  assert.ok(!isRequeuedBy(plugin, pod, 'nodes', { after: closed }))
  assert.ok(isRequeuedBy(plugin, pod, 'nodes', { before: closed, after: open }))
  assert.ok(!isRequeuedBy(plugin, pod, 'nodes', { before: open, after: open }))
  assert.ok(!isRequeuedBy(plugin, pod, 'nodes', { before: other, after: closed }))
  assert.ok(isRequeuedBy(plugin, podWith('a'), 'nodes', { before: other, after: closed }))
})

test('NodeUnschedulable: cordoned nodes are infeasible, unless tolerated', () => {
  const cordon = pluginOf(nodeUnschedulable)
  const cordoned = nodeOf('n', { spec: { unschedulable: true } })
  const told = (pod: Pod): unknown => statusesOf(cordon, pod, snapshotOf([cordoned, nodeOf('m')]))
  assert.deepEqual(told(podOf('p')), { n: 'node(s) were unschedulable!', m: '' })
  for (const tolerations of ['node.kubernetes.io/unschedulable', 'node.kubernetes.io/unschedulable:S', '*'])
    assert.deepEqual(told(podWith(tolerations)), { n: '', m: '' })
  assert.deepEqual(told(podWith('node.kubernetes.io/unschedulable:E')), {
    n: 'node(s) were unschedulable!',
    m: '',
  })
  assert.ok(isRequeuedBy(cordon, podOf('p'), 'nodes', { before: cordoned, after: nodeOf('n') }))
  assert.ok(!isRequeuedBy(cordon, podOf('p'), 'nodes', { before: nodeOf('n'), after: nodeOf('n') }))
  assert.ok(!isRequeuedBy(cordon, podOf('p'), 'nodes', { after: cordoned }))
})
