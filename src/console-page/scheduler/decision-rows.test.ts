import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  countRejections,
  decisionRows,
  highestScores,
  rejectingFilters,
  type PodDecision,
} from './decision-rows.ts'

const decision: PodDecision = {
  pod: 'default/web',
  uid: 'u',
  time: '2026-01-01T00:00:00Z',
  node: 'n2',
  message: '',
  nodes: 6,
  evaluatedNodes: 5,
  rejected: [
    { node: 'n3', plugin: 'TaintToleration', reasons: ['node(s) had untolerated taint(s)'] },
    { node: 'n4', plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu', 'Insufficient memory'] },
    { node: 'n5', plugin: 'NodeResourcesFit', reasons: ['Insufficient cpu'] },
  ],
  scored: [
    { node: 'n1', total: 150, scores: { NodeResourcesFit: 50, PodTopologySpread: 100 } },
    { node: 'n2', total: 150, scores: { NodeResourcesFit: 90, PodTopologySpread: 60 } },
  ],
}

test('decisionRows begins with the chosen node and ends with the rejected ones', () => {
  const rows = decisionRows(decision).map(({ node, isChosen, rejection }) => {
    return `${node} ${isChosen ? 'chosen' : (rejection?.plugin ?? 'feasible')}`
  })
  assert.deepEqual(rows, [
    'n2 chosen',
    'n1 feasible',
    'n3 TaintToleration',
    'n4 NodeResourcesFit',
    'n5 NodeResourcesFit',
  ])
})

test('countRejections counts nodes by filter and reason', () => {
  assert.deepEqual(
    countRejections(decision).map(({ plugin, reason, nodes }) => `${nodes} ${plugin}: ${reason}`),
    [
      '2 NodeResourcesFit: Insufficient cpu',
      '1 NodeResourcesFit: Insufficient memory',
      '1 TaintToleration: node(s) had untolerated taint(s)',
    ],
  )
  assert.deepEqual(rejectingFilters(decision), ['NodeResourcesFit', 'TaintToleration'])
})

test('highestScores has the best score of each plugin, and nothing if no node was scored', () => {
  assert.deepEqual(Object.fromEntries(highestScores(decision)), {
    NodeResourcesFit: 90,
    PodTopologySpread: 100,
  })
  assert.equal(highestScores({ ...decision, scored: [{ node: 'n1', total: 0, scores: {} }] }).size, 0)
})
