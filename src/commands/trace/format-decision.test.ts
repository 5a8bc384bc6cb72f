import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodDecision } from '#/scheduler/scheduler.ts'
import { formatDecision } from './format-decision.ts'

const time = '2030-01-01T00:00:00.000Z'

function check(decision: Partial<PodDecision>, ...expected: readonly string[]): void {
  const nothing = {
    pod: 'shop/web',
    uid: 'u',
    time,
    message: 'told',
    nodes: 0,
    evaluatedNodes: 0,
    rejected: [],
    scored: [],
  }
  const text = formatDecision({ ...nothing, ...decision })
  assert.ok(text.endsWith('\n') && !text.endsWith('\n\n'), JSON.stringify(text))
  assert.deepEqual(text.trimEnd().split('\n'), expected)
}

const scored = (node: string, scores: Readonly<Record<string, number>>) => {
  return { node, scores, total: Object.values(scores).reduce((sum, score) => sum + score, 0) }
}

test('trace: scores have a column for each plugin', () => {
  check(
    {
      node: 'a',
      nodes: 3,
      evaluatedNodes: 2,
      scored: [scored('a', { NodeAffinity: 200, Fit: 9 }), scored('long-name', { Fit: 70, Spread: 1 })],
    },
    `pod shop/web at ${time}: scheduled to a`,
    'told',
    '3 nodes, 2 evaluated, 2 feasible',
    '',
    'NODE        TOTAL   NodeAffinity   Fit   Spread',
    'a           209     200            9     0',
    'long-name   71      0              70    1',
  )
})

test('trace: rejected nodes are listed with all reasons', () => {
  check(
    {
      nodes: 2,
      evaluatedNodes: 2,
      rejected: [
        { node: 'a', plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu', 'Insufficient memory'] },
        { node: 'b', plugin: 'NodePorts', reasons: ['taken'] },
      ],
    },
    `pod shop/web at ${time}: unschedulable`,
    'told',
    '2 nodes, 2 evaluated, 0 feasible',
    '',
    'NODE   REJECTED BY        REASON',
    'a      NodeResourcesFit   Insufficient cpu, Insufficient memory',
    'b      NodePorts          taken',
  )
})

test('trace: a single feasible node has no scores, and without nodes there are no tables', () => {
  check(
    { node: 'a', nodes: 1, evaluatedNodes: 1, scored: [scored('a', {})] },
    `pod shop/web at ${time}: scheduled to a`,
    'told',
    '1 nodes, 1 evaluated, 1 feasible',
  )
  check({}, `pod shop/web at ${time}: unschedulable`, 'told', '0 nodes, 0 evaluated, 0 feasible')
})

test('trace: plugin names of Object.prototype are ordinary names', () => {
  check(
    { node: 'a', scored: [scored('a', { constructor: 5 }), scored('b', { Fit: 1 })] },
    `pod shop/web at ${time}: scheduled to a`,
    'told',
    '0 nodes, 0 evaluated, 2 feasible',
    '',
    'NODE   TOTAL   constructor   Fit',
    'a      5       5             0',
    'b      1       0             1',
  )
})
