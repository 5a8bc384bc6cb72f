import assert from 'node:assert/strict'
import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../tests/temporary-folder.ts'
import type { HistoryRecord } from '#/simulation/history/history.ts'
import { historyOf } from '#/simulation/history/test-history.ts'
import { HistoryWriter, readHistory } from './history-file.ts'

const records: readonly HistoryRecord[] = [
  { type: 'run', target: 'embedded', seed: '1' },
  ...historyOf(`
    0-1 a create k v1 = 5
    0-1 w watch 4: ADDED k v1@5, BOOKMARK 9
    2-3 c final = 9: k=v1@5
    informer i: k=v1@5
  `),
]

test('a history is read as it was written, also when the run was killed in the middle of a line', async t => {
  const path = join(await temporaryFolder(t), 'history.jsonl')
  {
    await using writer = new HistoryWriter(path)
    writer.write(records[0]!)
    writer.write({ type: 'call', client: 'a', verb: 'create', key: 'k', value: 'v1', callMs: 0 })
    for (const record of records.slice(1)) writer.write(record)
  }
  assert.deepEqual(await readHistory(path), records)
  const call = { client: 'a', verb: 'update', key: 'k', value: 'v2', callMs: 4 } as const
  await appendFile(path, `${JSON.stringify({ ...call, type: 'call' })}\n{"type":"opera`)
  const outcome = { type: 'unknown', reason: 'the history ends before' }
  const begun = { ...call, type: 'operation', returnMs: Infinity, outcome }
  assert.deepEqual(await readHistory(path), [...records, begun])
})

test('a file that is no history is refused', async t => {
  const path = join(await temporaryFolder(t), 'history.jsonl')
  await writeFile(path, '{"type":"run"}\n{"type"\n{"type":"run"}\n')
  await assert.rejects(readHistory(path), /line 2 is not JSON/)
  await writeFile(path, '{"a":1}\n')
  await assert.rejects(readHistory(path), /not a history of this tool/)
})
