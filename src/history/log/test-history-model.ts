/** A complete history in memory, which tests compare a log with. */
import assert from 'node:assert/strict'
import type { HistoryLog } from '../history-log.ts'
import type { HistoryRecord, NewRecord, StateAt } from '../history-record.ts'

export class HistoryModel {
  readonly records: NewRecord[] = []

  get lastRevision(): number {
    return this.records.at(-1)?.revision ?? 0
  }

  /** A creation or update or, without a value, a deletion. */
  write(write: {
    readonly revision: number
    readonly timeMs: number
    readonly key: string
    readonly value: string | undefined
  }): NewRecord {
    const { revision, timeMs, key } = write
    const before = this.#last(key, revision)
    const previous =
      before && before.type !== 'DELETED' ? { revision: before.revision, value: before.value } : undefined
    assert.ok(write.value !== undefined || previous, 'only what exists can be deleted')
    const record: NewRecord = {
      revision,
      timeMs,
      key,
      type: write.value === undefined ? 'DELETED' : previous ? 'MODIFIED' : 'ADDED',
      value: write.value === undefined ? previous!.value : Buffer.from(write.value),
      uid: previous || revision % 5 !== 0 ? `uid-${revision}` : '',
      origin: revision % 3 === 0 ? undefined : Buffer.from(`origin ${revision}`),
      previous,
    }
    this.records.push(record)
    return record
  }

  exists(key: string): boolean {
    return (this.#last(key, Infinity)?.type ?? 'DELETED') !== 'DELETED'
  }

  /** What a reader makes of an answer of the log: an unchanged key is what it is now. */
  resolve(key: string, { state, revision }: { state: StateAt; revision: number }): string {
    if (state.type === 'version') return `${state.revision} ${text(state.value)}`
    if (state.type !== 'unchanged') return state.type
    const now = this.#last(key, Infinity)
    // A key that does not exist now, and of which nothing is recorded, has not existed.
    if (now === undefined || now.type === 'DELETED') return 'absent'
    return now.revision <= revision ? `${now.revision} ${text(now.value)}` : 'unchanged, although it changed'
  }

  stateAt(key: string, revision: number): string {
    const record = this.#last(key, revision)
    return record && record.type !== 'DELETED' ? `${record.revision} ${text(record.value)}` : 'absent'
  }

  #last(key: string, revision: number): NewRecord | undefined {
    return this.records.findLast(record => record.key === key && record.revision <= revision)
  }
}

/** Compares all reads of the log with the model; `keys` are all keys of it. */
export async function compareWithModel(
  log: HistoryLog,
  { model, keys, revisions }: { model: HistoryModel; keys: readonly string[]; revisions: readonly number[] },
): Promise<void> {
  const retained = await log.retainedSince()
  for (const revision of revisions) {
    const listed = new Map<string, string>()
    for await (const { key, state } of log.listAt('/r/', revision)) {
      assert.ok(!listed.has(key), `${key} is listed once`)
      listed.set(key, model.resolve(key, { state, revision }))
    }
    for (const key of keys) {
      const state = await log.at(key, revision)
      const isRetained = retained !== undefined && revision >= retained.revision
      assert.equal(state.type === 'expired', !isRetained, `${key} at ${revision}: ${state.type}`)
      if (!isRetained) continue
      const expected = model.stateAt(key, revision)
      assert.equal(model.resolve(key, { state, revision }), expected, `${key} at ${revision}`)
      const inList = listed.get(key) ?? model.resolve(key, { state: { type: 'unchanged' }, revision })
      assert.equal(inList, expected, `${key} at ${revision} in the list`)
    }
  }
  await compareRecords(log, { model, keys, since: retained?.revision ?? Infinity })
}

/** After `since` all records are there; those before are correct. */
async function compareRecords(
  log: HistoryLog,
  { model, keys, since }: { model: HistoryModel; keys: readonly string[]; since: number },
): Promise<void> {
  const lines = model.records.map(show)
  const inRange: string[] = []
  for await (const batch of log.range({ afterRevision: 0, withValues: true }))
    inRange.push(...batch.map(record => show({ ...record, value: record.value! })))
  const expected = model.records.filter(({ revision }) => revision > since).map(show)
  assert.deepEqual(
    inRange.filter(line => Number(line.split(' ')[0]) > since),
    expected,
  )
  assert.deepEqual(
    inRange,
    lines.filter(line => inRange.includes(line)),
    'ascending, and only what was recorded',
  )
  for (const key of keys) {
    const versions = (await Array.fromAsync(log.versions(key))).map(show)
    assert.deepEqual(
      versions.toReversed(),
      inRange.filter(line => line.split(' ')[2] === key),
    )
  }
}

export function show({ revision, timeMs, key, type, uid, origin, value }: HistoryRecord): string {
  const shownOrigin = origin ? text(origin) : '-'
  return `${revision} ${Math.floor(timeMs)} ${key} ${type} ${uid} [${shownOrigin}] ${text(value)}`
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}
