import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeAffinity, NodeSelectorTerm, Pod } from '#/api/generated/core/v1.ts'
import { nodeOf, podOf } from '../test-cluster.ts'
import { nodeAffinity } from './node-affinity.ts'
import { nodeName } from './node-name.ts'
import { isRequeuedBy, pluginOf, statusesOf, scoresOf, snapshotOf } from './test-plugin.ts'

const plugin = pluginOf(nodeAffinity)
const mismatch = "node(s) didn't match Pod's node affinity/selector!"

const nodes = [
  nodeOf('a', { labels: { zone: '1', disk: 'ssd', cores: '4' } }),
  nodeOf('b', { labels: { zone: '2', disk: 'hdd', cores: '16' } }),
  nodeOf('c', { labels: { zone: '2' } }),
]
const snapshot = snapshotOf(nodes)

/** `zone in 1,2 & disk & !cores`: a conjunction; `name in a` matches the node name. */
function termOf(text: string): NodeSelectorTerm {
  const parts = text.split(' & ').filter(part => part !== '')
  const requirements = parts.map(part => {
    const [key = '', verb, values = ''] = part.split(' ')
    if (verb === undefined)
      return part.startsWith('!')
        ? { key: part.slice(1), operator: 'DoesNotExist' }
        : { key, operator: 'Exists' }
    const operator = { in: 'In', notin: 'NotIn', gt: 'Gt', lt: 'Lt' }[verb]!
    return { key: key === 'name' ? 'metadata.name' : key, operator, values: values.split(',') }
  })
  const isName = ({ key }: { key: string }): boolean => key === 'metadata.name'
  return {
    matchExpressions: requirements.filter(each => !isName(each)),
    matchFields: requirements.filter(isName),
  }
}

function requiring(...terms: readonly string[]): NodeAffinity {
  return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms.map(termOf) } }
}

function preferring(...terms: readonly (readonly [number, string])[]): NodeAffinity {
  return {
    preferredDuringSchedulingIgnoredDuringExecution: terms.map(([weight, text]) => ({
      weight,
      preference: termOf(text),
    })),
  }
}

const required: readonly (readonly [what: string, terms: readonly string[], fits: string])[] = [
  ['one value', ['zone in 1'], 'a'],
  ['several values', ['zone in 1,2'], 'a b c'],
  ['other values', ['zone notin 1'], 'b c'],
  ['a label that is there', ['disk'], 'a b'],
  ['a label that is not there', ['!disk'], 'c'],
  ['a larger number', ['cores gt 4'], 'b'],
  ['a smaller number', ['cores lt 16'], 'a'],
  ['a value and a label', ['zone in 2 & disk'], 'b'],
  ['one of two terms', ['zone in 1', '!disk'], 'a c'],
  ['an empty term, which matches no node', [''], ''],
  ['an empty term or a value', ['', 'zone in 1'], 'a'],
  ['no terms at all', [], ''],
  ['a number of a label that is none', ['disk gt 4'], ''],
]

for (const [what, terms, fits] of required) {
  test(`a pod that requires ${what}`, () => {
    const statuses = statusesOf(
      plugin,
      podOf('p', { affinity: { nodeAffinity: requiring(...terms) } }),
      snapshot,
    )
    assert.deepEqual(
      statuses,
      Object.fromEntries(['a', 'b', 'c'].map(name => [name, fits.split(' ').includes(name) ? '' : mismatch])),
    )
  })
}

test('nodeSelector and node affinity must both match', () => {
  const pod = podOf('p', { nodeSelector: { zone: '2' }, affinity: { nodeAffinity: requiring('disk') } })
  assert.deepEqual(statusesOf(plugin, pod, snapshot), { a: mismatch, b: '', c: mismatch })
  assert.deepEqual(statusesOf(plugin, podOf('p', { nodeSelector: {} }), snapshot), { a: '', b: '', c: '' })
})

test('affinity on metadata.name restricts the nodes, and conflicting names match none', () => {
  const named = (...terms: readonly string[]): unknown =>
    statusesOf(plugin, podOf('p', { affinity: { nodeAffinity: requiring(...terms) } }), snapshot)
  assert.deepEqual(named('name in a'), { a: '', b: 'not named', c: 'not named' })
  assert.deepEqual(named('name in a', 'name in c & disk'), { a: '', b: 'not named', c: mismatch })
  assert.deepEqual(named('name in a', 'zone in 2'), { a: '', b: '', c: '' })
  assert.deepEqual(named('name in a & name in b'), {
    a: 'pod affinity terms conflict!',
    b: 'pod affinity terms conflict!',
    c: 'pod affinity terms conflict!',
  })
})

const preferred: readonly (readonly [
  readonly (readonly [number, string])[],
  readonly number[] | undefined,
])[] = [
  [[], undefined],
  [[[1, 'zone in 1']], [100, 0, 0]],
  [
    [
      [2, 'zone in 2'],
      [3, 'disk'],
    ],
    [60, 100, 40],
  ],
  [[[5, 'zone in 9']], [0, 0, 0]],
  [[[5, '']], [0, 0, 0]],
  [
    [
      [1, 'zone in 1'],
      [100, 'zone in 1,2'],
    ],
    [100, 99, 99],
  ],
]

for (const [terms, want] of preferred) {
  test(`a pod that prefers ${JSON.stringify(terms)}`, () => {
    const pod = podOf('p', { affinity: { nodeAffinity: preferring(...terms) } })
    const scores = scoresOf(plugin, pod, snapshot)
    assert.deepEqual(scores && ['a', 'b', 'c'].map(name => scores[name]), want)
  })
}

test('addedAffinity is enforced and has a reason of its own', () => {
  const added = pluginOf(nodeAffinity, {
    addedAffinity: { ...requiring('zone in 2'), ...preferring([10, 'disk']) },
  })
  const pod = podOf('p', {
    affinity: { nodeAffinity: { ...requiring('disk'), ...preferring([5, '!disk']) } },
  })
  assert.deepEqual(statusesOf(added, pod, snapshot), {
    a: "node(s) didn't match scheduler-enforced node affinity!",
    b: '',
    c: mismatch,
  })
  assert.deepEqual(scoresOf(added, pod, snapshot), { a: 100, b: 100, c: 50 })
  assert.throws(
    () => pluginOf(nodeAffinity, { addedAffinity: requiring('zone in 1 & cores gt 1,2') }),
    /addedAffinity\.required\w+\.nodeSelectorTerms\[0\]\.matchExpressions\[1\]\.values: Required value/,
  )
})

test('NodeAffinity: a node that starts to match requeues a pod', () => {
  const pod = podOf('p', { nodeSelector: { zone: '1' } })
  const [a, b] = [nodes[0]!, nodes[1]!]
  const isRequeued = (...change: Parameters<typeof isRequeuedBy>[3][]): readonly boolean[] =>
    change.map(each => isRequeuedBy(plugin, pod, 'nodes', each))
  assert.deepEqual(isRequeued({ after: a }, { after: b }, { before: b, after: a }, { before: a, after: a }), [
    true,
    false,
    true,
    false,
  ])
})

test('NodeName: only the named node is feasible', () => {
  const named = pluginOf(nodeName)
  const told = (pod: Pod): unknown => statusesOf(named, pod, snapshot)
  const other = "node(s) didn't match the requested node name!"
  assert.deepEqual(told(podOf('p', { nodeName: 'b' })), { a: other, b: '', c: other })
  assert.deepEqual(told(podOf('p')), { a: '', b: '', c: '' })
})
