import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePriorityLevels } from './priority-levels.ts'

test('parsePriorityLevels reads the padded columns and completes short rows', () => {
  const text = `PriorityLevelName, ActiveQueues, IsIdle, DispatchedRequests
exempt,            0,            false,  12345

system,            1
`
  assert.deepEqual(parsePriorityLevels(text), {
    titles: ['Active queues', 'Is idle', 'Dispatched'],
    levels: [
      { name: 'exempt', cells: ['0', 'no', '12,345'], dispatched: 12_345 },
      { name: 'system', cells: ['1', '', ''], dispatched: 0 },
    ],
  })
  assert.deepEqual(parsePriorityLevels(''), { titles: [], levels: [] })
})
