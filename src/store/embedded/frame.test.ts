import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import type { Version } from '../local/version.ts'
import {
  chainOf,
  contentIn,
  encodeFrame,
  findFrame,
  frameAt,
  isNoted,
  recordAt,
  recordsOf,
  valueIn,
  type LogRecord,
} from './frame.ts'

const genesis = Buffer.alloc(32, 7)

function put(key: string, value: string, revision: number): LogRecord {
  return { type: 'put', version: { ...version(key, revision), value: Buffer.from(value) } }
}

function version(key: string, revision: number): Version {
  return {
    key,
    revision,
    createRevision: 2,
    isDeletion: false,
    value: undefined,
    expiresMs: 12.5,
    note: undefined,
    older: undefined,
    location: 0,
    sizeBytes: 0,
  }
}

function noted(record: LogRecord, note: string): LogRecord {
  return 'version' in record ? { ...record, version: { ...record.version, note: Buffer.from(note) } } : record
}

const records: readonly LogRecord[] = [
  put('/registry/pods/default/a', 'value', 3),
  put('/registry/clusterroles/é', '', 4),
  { type: 'delete', version: { ...version('/registry/b', 5), isDeletion: true } },
  noted(put('/registry/clusterroles/é', 'värde', 6), 'note'),
  noted({ type: 'delete', version: { ...version('/registry/é', 7), isDeletion: true } }, 'end'),
  { type: 'compact', revision: 4 },
  { type: 'jump', revision: 2 ** 40 },
]

test('records of a frame are read as they were written, without values and notes', () => {
  const { bytes, chain, positions } = encodeFrame(records, genesis)
  const frame = frameAt(bytes, 0)!
  assert.deepEqual(Buffer.from(frame.previous), genesis)
  assert.deepEqual(chainOf(frame.bytes), chain)
  const located = [...recordsOf(frame)]
  assert.deepEqual([...located.map(({ position }) => position), bytes.length], positions)
  for (const [index, { record, sizeBytes }] of located.entries()) {
    const written = records[index]!
    if (!('version' in written)) assert.deepEqual(record, written)
    else
      assert.deepEqual(record, {
        ...written,
        version: { ...written.version, value: undefined, note: undefined, sizeBytes },
      })
    assert.equal(recordAt(bytes, positions[index]!)?.isIntact, true)
  }
})

test('value and note are read from their record', () => {
  const { bytes, positions } = encodeFrame(records, genesis)
  const check = (index: number, revision: number, expected: string): void => {
    const encoded = bytes.subarray(positions[index], positions[index + 1])
    const { value = '-', note = '-' } = contentIn(encoded, revision)!
    assert.equal(`${Buffer.from(value).toString()} ${Buffer.from(note).toString()}`, expected)
    const { record, sizeBytes } = recordAt(encoded, 0)!
    if (record.type === 'delete') assert.equal(isNoted({ ...record.version, sizeBytes }), expected !== '- -')
  }
  check(0, 3, 'value -')
  check(1, 4, ' -')
  check(2, 5, '- -')
  check(3, 6, 'värde note')
  check(4, 7, '- end')
})

test('a value is read from its record, and only for its revision', () => {
  const { bytes, positions } = encodeFrame(records, genesis)
  const encoded = bytes.subarray(positions[0], positions[1])
  assert.equal(Buffer.from(valueIn(encoded, 3)!).toString(), 'value')
  assert.equal(valueIn(encoded, 4), undefined)
  assert.equal(valueIn(encoded.subarray(0, 20), 3), undefined)
  assert.equal(valueIn(bytes.subarray(positions[2], positions[3]), 5), undefined)
})

test('every flipped bit of a frame and of a record is recognized', () => {
  const { bytes, positions } = encodeFrame(records, genesis)
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const damaged = Buffer.from(bytes)
    damaged[bit >>> 3]! ^= 1 << (bit & 7)
    assert.equal(frameAt(damaged, 0), undefined, `bit ${bit} of the frame`)
    const [from, to] = [positions[0]!, positions[1]!]
    if (bit >>> 3 < from || bit >>> 3 >= to) continue
    assert.equal(valueIn(damaged.subarray(from, to), 3), undefined, `bit ${bit} of the record`)
  }
})

test('a frame that is cut is recognized, and the next one is found', () => {
  const first = encodeFrame(records, genesis)
  const second = encodeFrame([put('/registry/c', 'x', 6)], first.chain)
  for (let length = 0; length < first.bytes.length; length++) {
    assert.equal(frameAt(first.bytes.subarray(0, length), 0), undefined)
    const content = Buffer.concat([first.bytes.subarray(0, length), second.bytes])
    assert.equal(findFrame(content, 0), length)
  }
})

test('random bytes have no frame', () => {
  const content = Buffer.from(new SeededRandom('frames').bytes(100_000))
  assert.equal(findFrame(content, 0), undefined)
})
