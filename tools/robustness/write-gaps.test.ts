import assert from 'node:assert/strict'
import { test } from 'node:test'
import { historyOf } from '#/simulation/history/test-history.ts'
import { writeGaps } from './write-gaps.ts'

test('the longest time without an acknowledged write is that of the fault in it', () => {
  const writes = historyOf(`
    0-1 a create k v1 = 5
    1-9 a update k v2 = 6
    9-10 a update k v3 = 7
    10-30 a update k v4 = 8
  `)
  const fault = (kind: string, startMs: number, endMs: number) => ({
    type: 'fault' as const,
    kind,
    startMs,
    endMs,
  })
  assert.deepEqual(writeGaps(writes), new Map())
  assert.deepEqual(
    writeGaps([...writes, fault('kill', 2, 3), fault('kill', 12, 13), fault('stop', 2, 3)]),
    new Map([
      ['kill', 20],
      ['stop', 8],
    ]),
  )
})
