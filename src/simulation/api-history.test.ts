import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateApiHistory } from './api-history.ts'
import type { HistoryRecord } from './history/history.ts'

const seedCount = 30

test('clients of API servers with faults see correct histories', async t => {
  const totals: Record<string, number> = { expiredPages: 0 }
  for (let seed = 0; seed < seedCount; seed++) {
    const { violations, history, expiredPages } = await simulateApiHistory(seed)
    assert.deepEqual(violations, [], `seed ${seed}`)
    totals['expiredPages']! += expiredPages
    for (const record of history) for (const each of countsOf(record)) totals[each] = (totals[each] ?? 0) + 1
  }
  t.diagnostic(JSON.stringify(totals))
  for (const each of expected) assert.ok((totals[each] ?? 0) > 0, `${each} has not happened`)
  assert.ok(totals['acknowledged write']! > 100 * seedCount)
})

/** Otherwise the simulation would test less than it says. */
const expected: readonly string[] = [
  'expiredPages',
  'watch expired',
  'unknown outcome',
  'Conflict',
  'AlreadyExists',
  'NotFound',
  'list exact',
  'list not-older-than',
  'BOOKMARK',
  'power-failure',
  'stop',
  'disk-error',
  'full-disk',
  'slow-disk',
  'clock-jump',
  'watch-lag',
  'compaction',
  'connection-silent',
  'connection-refused',
]

function countsOf(record: HistoryRecord): readonly string[] {
  switch (record.type) {
    case 'operation': {
      const { outcome, verb } = record
      if (outcome.type === 'failed') return [outcome.reason]
      if (outcome.type === 'unknown') return ['unknown outcome']
      return verb === 'get' ? [] : ['acknowledged write']
    }
    case 'list':
      return [`list ${record.match}`]
    case 'watch':
      return [`watch ${record.end}`, ...record.events.map(({ type }) => type)]
    case 'fault':
      return [record.kind]
    case 'run':
    case 'informer':
      return []
  }
}

test('a seed has one trace', async () => {
  const [first, second] = [await simulateApiHistory(3), await simulateApiHistory(3)]
  assert.equal(first.traceHash, second.traceHash)
  assert.deepEqual(first.history, second.history)
})
