import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSummary } from './read-summary.ts'

const use = (nanoCores: unknown, bytes: unknown) => ({
  cpu: { usageNanoCores: nanoCores, time: '2024-01-01T00:00:00Z' },
  memory: { workingSetBytes: bytes },
})

test('node and pod usage is read from a kubelet summary', () => {
  const time = '2024-01-01T00:00:00Z'
  const pod = { podRef: { uid: 'u' }, containers: [{ name: 'a', ...use(5, 6) }] }
  const { node, pods } = readSummary({ node: use(1, 2), pods: [pod] })
  assert.deepEqual(node, { time, nanoCores: 1, memoryBytes: 2 })
  assert.deepEqual([...(pods.get('u') ?? [])], [['a', { time, nanoCores: 5, memoryBytes: 6 }]])
})

test('an invalid kubelet summary is ignored', () => {
  const nothing = { pods: new Map() }
  for (const value of [
    null,
    [],
    'x',
    7,
    {},
    { node: null, pods: null },
    { node: use(-1, 2) },
    { node: use('1', 2) },
    { node: use(1.5, 2) },
    { node: use(1e300, 2) },
    { pods: [null, 1, [], {}, { podRef: null }, { podRef: { uid: 1 }, containers: [] }] },
    { pods: [{ podRef: { uid: 'u' }, containers: [null] }] },
    { pods: [{ podRef: { uid: 'u' }, containers: [{ name: 'a', ...use(1, 2) }, { name: 'b' }] }] },
  ])
    assert.deepEqual(readSummary(value), nothing, JSON.stringify(value))
})
