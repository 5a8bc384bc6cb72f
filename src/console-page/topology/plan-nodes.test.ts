import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TableCell, TableRow } from '../data/table-format.ts'
import { describePods, isSameCard, planNodes } from './plan-nodes.ts'
import { podAt, podShapes, podsHeight } from './pod-shapes.ts'

const columns = (...names: readonly string[]) => names.map(name => ({ name, type: 'string', priority: 0 }))

function row(name: string, ...cells: readonly TableCell[]): TableRow {
  return { cells, object: { metadata: { name, namespace: 'shop' } } }
}

const nodes = [row('node-10', 'Ready'), row('node-2', 'NotReady')]
const tables = { nodes, nodeColumns: columns('Status'), podColumns: columns('Status', 'Ready', 'Node') }

function plan(pods: readonly TableRow[]) {
  return planNodes({ ...tables, pods })
}

test('planNodes puts pods on their nodes, and those without a node first', () => {
  const cards = plan([
    row('a', 'Running', '1/1', 'node-2'),
    row('b', 'Running', '0/1', 'node-2'),
    row('c', 'Completed', '0/1', 'node-10'),
    row('d', 'Pending', '0/1', '<none>'),
    row('e', 'CrashLoopBackOff', '0/1', 'deleted-node'),
  ])
  assert.deepEqual(
    cards.map(({ name, tone, pods }) => `${name} ${tone}: ${pods.map(pod => pod.name + pod.tone).join(' ')}`),
    [' warn: dbusy ebad', 'node-2 warn: agood bwarn', 'node-10 good: cidle'],
  )
})

test('isSameCard finds the cards that changed', () => {
  const [a, b] = [row('a', 'Running', '1/1', 'node-2'), row('b', 'Running', '1/1', 'node-10')]
  const [before, after] = [plan([a, b]), plan([a, row('b', 'Error', '0/1', 'node-10')])]
  const same = before.map((card, index) => isSameCard(card, after[index] ?? card))
  assert.deepEqual(same, [true, false])
})

test('describePods counts states, the most frequent first', () => {
  const [card] = plan(
    ['Pending', 'Running', 'Running'].map((status, index) => row(`${index}`, status, '1/1', '')),
  )
  assert.equal(describePods(card?.pods ?? []), '3 pods: 2 Running, 1 Pending')
  assert.equal(describePods([]), 'no pods')
})

test('podShapes has one path for each state, and podAt finds the pod at a position', () => {
  const tones = ['good', 'bad', 'good', 'busy'] as const
  const shapes = podShapes(tones.map(tone => ({ tone })))
  assert.deepEqual(
    shapes.map(({ tone, path }) => `${tone} ${path.split('M').length - 1}`),
    ['good 2', 'bad 1', 'busy 1'],
  )
  assert.equal(podAt(1, 1), 0)
  assert.equal(podAt(15, 1), 1)
  assert.equal(podAt(1, 15), 12)
  assert.equal(podAt(500, 1), -1)
  assert.equal(podsHeight(13), 2 * podsHeight(1))
})
