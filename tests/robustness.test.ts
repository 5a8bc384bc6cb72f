/** A short run of `npm run robustness`, and its history with planted errors. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { checkHistory } from '#/simulation/history/check-history.ts'
import type { HistoryRecord } from '#/simulation/history/history.ts'
import { readHistory } from '../tools/robustness/history-file.ts'
import { hostsMissing } from './hosts/hosts-missing.ts'
import { temporaryFolder } from './temporary-folder.ts'

const program = fileURLToPath(new URL('../tools/robustness.ts', import.meta.url))

test('the history of a run with faults is correct, and a planted error is found', async t => {
  const report = await temporaryFolder(t)
  const load = ['--minutes', '0.33', '--clients', '4', '--pause', '100', '--seed', 'test']
  const { code, output } = await robustness([...load, '--faults', 'kill,damage', '--report', report])
  assert.equal(code, 0, output)
  assert.match(output, /^faults: kill, damage$/m)
  assert.match(output, /^violations +0$/m)
  const acknowledged = Number(/^acknowledged writes +(\d+)$/m.exec(output)?.[1])
  assert.ok(acknowledged > 0, output)

  const historyFile = join(report, 'history.jsonl')
  assert.equal((await robustness(['--check', historyFile])).code, 0)
  const history = await readHistory(historyFile)
  assert.ok(history.some(({ type }) => type === 'fault'))
  for (const [name, { plant, violation }] of Object.entries(plantedErrors)) {
    const { violations } = checkHistory(plant(history))
    assert.ok(
      violations.some(each => violation.test(each)),
      `${name}: ${violations.join('\n')}`,
    )
  }
  const wrong = join(report, 'wrong.jsonl')
  const lines = plantedErrors.lostWrite!.plant(history).map(record => JSON.stringify(record))
  await writeFile(wrong, `${lines.join('\n')}\n`)
  const checked = await robustness(['--check', wrong])
  assert.equal(checked.code, 1, checked.output)
  assert.match(checked.output, /acknowledged write is lost/)
})

test(
  'no acknowledged write is lost on control plane hosts that fail in turn',
  { skip: hostsMissing },
  async t => {
    const report = await temporaryFolder(t)
    const load = [
      '--target',
      'hosts',
      '--minutes',
      '0.33',
      '--clients',
      '4',
      '--pause',
      '100',
      '--seed',
      'test',
    ]
    const { code, output } = await robustness([
      ...load,
      '--faults',
      'kill-etcd-leader,kill,cut-off',
      '--report',
      report,
    ])
    assert.equal(code, 0, output)
    assert.match(output, /^violations +0$/m)
    assert.match(output, /^pod instances +3, 0 replaced$/m)
    const history = await readHistory(join(report, 'history.jsonl'))
    assert.ok(history.some(({ type }) => type === 'fault'))
  },
)

interface PlantedError {
  readonly plant: (history: readonly HistoryRecord[]) => readonly HistoryRecord[]
  readonly violation: RegExp
}

/** What a cluster would have shown that breaks one promise. */
const plantedErrors: Readonly<Record<string, PlantedError>> = {
  lostWrite: {
    plant: history => history.map(record => (isFinal(record) ? { ...record, objects: {} } : record)),
    violation: /acknowledged write is lost/,
  },
  revisionGivenTwice: {
    plant: history => {
      const [first, second] = history.filter(isAcknowledgedWrite)
      assert.ok(first && second)
      const version = { value: second.value!, revision: revisionOf(first) }
      return history.map(each => (each === second ? { ...second, outcome: { type: 'ok', version } } : each))
    },
    violation: /is two different writes/,
  },
  staleRead: {
    plant: history => {
      const writes = history.filter(isAcknowledgedWrite)
      const later = writes.findLast(({ verb }) => verb === 'update')
      const earlier = writes.find(({ key }) => key === later?.key)
      assert.ok(later && earlier && later !== earlier)
      const { key, outcome } = earlier
      const times = { callMs: later.returnMs + 0.001, returnMs: later.returnMs + 0.002 }
      return [...history, { type: 'operation', client: 'reader', verb: 'get', key, outcome, ...times }]
    },
    violation: /is not linearizable/,
  },
  missedEvent: {
    plant: history => {
      const long = history.find(record => record.type === 'watch' && record.events.length > 2)
      assert.ok(long?.type === 'watch')
      const events = long.events.toSpliced(1, 1)
      return history.map(record => (record === long ? { ...long, events } : record))
    },
    violation: /misses a write before its position/,
  },
  reorderedEvents: {
    plant: history => {
      return history.map(record =>
        record.type === 'watch' ? { ...record, events: record.events.toReversed() } : record,
      )
    },
    violation: /is not in order/,
  },
  divergedInformer: {
    plant: history =>
      history.map(record => (record.type === 'informer' ? { ...record, objects: {} } : record)),
    violation: /^informer .* is absent, on the server/,
  },
}

type Acknowledged = Extract<HistoryRecord, { type: 'operation' }>

function isAcknowledgedWrite(record: HistoryRecord): record is Acknowledged {
  return record.type === 'operation' && record.verb !== 'get' && revisionOf(record) > 0
}

function revisionOf(record: HistoryRecord): number {
  return record.type === 'operation' && record.outcome.type === 'ok'
    ? (record.outcome.version?.revision ?? 0)
    : 0
}

function isFinal(record: HistoryRecord): record is Extract<HistoryRecord, { type: 'list' }> {
  return record.type === 'list' && record.isFinal === true
}

function robustness(words: readonly string[]): Promise<{ readonly code: unknown; readonly output: string }> {
  return new Promise(resolve => {
    execFile(process.execPath, [program, ...words], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, output: stdout + stderr })
    })
  })
}
