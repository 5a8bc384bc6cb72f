import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simulateApiHistory } from './api-history.ts'
import type { StoreKind } from './api-history/stores.ts'
import type { HistoryRecord } from './history/history.ts'

const seedsOfEach = 16

/** What must happen in these seeds: otherwise the simulation would test less than it says. */
const ofBoth = [
  'expired page',
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
  'clock-jump',
  'watch-lag',
  'compaction',
  'connection-silent',
  'connection-refused',
]
const expected: Readonly<Record<StoreKind, readonly string[]>> = {
  embedded: [...ofBoth, 'disk-error', 'full-disk', 'slow-disk'],
  etcd: [...ofBoth, 'etcd', 'etcd-requests'],
}

for (const store of ['embedded', 'etcd'] as const) {
  test(`clients of API servers on ${store} see correct histories`, async t => {
    const counts = new Map<string, number>()
    const count = (what: string, times = 1): void => void counts.set(what, (counts.get(what) ?? 0) + times)
    for (let seed = 0; seed < seedsOfEach; seed++) {
      const { violations, history, expiredPages } = await simulateApiHistory(seed, { store })
      assert.deepEqual(violations, [], `seed ${seed}`)
      count('expired page', expiredPages)
      for (const record of history) for (const each of countsOf(record)) count(each)
    }
    t.diagnostic([...counts].map(([what, times]) => `${what}: ${times}`).join(', '))
    for (const each of expected[store]) assert.ok((counts.get(each) ?? 0) > 0, `${each} has not happened`)
    assert.ok((counts.get('acknowledged write') ?? 0) > 100 * seedsOfEach)
  })
}

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
    case 'expired-list':
      return ['list expired']
    case 'run':
    case 'informer':
    case 'epoch':
    case 'violation':
      return []
  }
}

test('a seed has one trace', async () => {
  for (const store of ['embedded', 'etcd'] as const) {
    const [first, second] = [await simulateApiHistory(3, { store }), await simulateApiHistory(3, { store })]
    assert.equal(first.traceHash, second.traceHash)
    assert.deepEqual(first.history, second.history)
  }
})
