import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import {
  emptyResponse,
  formErrResponse,
  isDnsName,
  isPlausibleQuery,
  parseDnsMessage,
  plainUdpBytesMax,
  recordTypes,
  serializeDnsMessage,
  tcpBytesMax,
  type DnsMessage,
  type ResourceRecord,
} from './dns-message.ts'
import { addressRecord, nameRecord, serviceRecord } from './records/make-records.ts'

const anyLabel = fc.uint8Array({ minLength: 1, maxLength: 20 }).map(bytes => {
  return [...bytes].map(byte => escaped(byte)).join('')
})

/** In zone file notation. */
function escaped(byte: number): string {
  const character = String.fromCharCode(byte)
  if (character === '.' || character === '\\') return `\\${character}`
  return byte > 0x20 && byte < 0x7f ? character : `\\${String(byte).padStart(3, '0')}`
}

const plainLabel = fc.stringMatching(/^[a-z0-9-]{1,12}$/)
const anyName = fc
  .array(fc.oneof({ weight: 4, arbitrary: plainLabel }, anyLabel), { maxLength: 6 })
  .map(labels => labels.join('.'))
const uint16 = fc.integer({ min: 0, max: 65_535 })
const uint32 = fc.integer({ min: 0, max: 0xffff_ffff })
const someBytes = fc.uint8Array({ minLength: 1, maxLength: 40 })

const anyRecord: fc.Arbitrary<ResourceRecord> = fc
  .record({
    name: anyName,
    class: uint16,
    ttlSeconds: uint32,
    target: anyName,
    bytes: someBytes,
    type: uint16,
  })
  .map(({ target, bytes, type, ...common }) => {
    if (type % 4 === 0) return { ...common, type: 5, data: [target] }
    if (type % 4 === 1) return { ...common, type: 33, data: [new Uint8Array(6), target] }
    if (type % 4 === 2) return { ...common, type: 6, data: [target, target, bytes] }
    return { ...common, type: 20_000 + (type % 20_000), data: [bytes] }
  })

const anyMessage: fc.Arbitrary<DnsMessage> = fc
  .record({
    id: uint16,
    isResponse: fc.boolean(),
    opcode: fc.integer({ min: 0, max: 15 }),
    isAuthoritative: fc.boolean(),
    isTruncated: fc.boolean(),
    recursionDesired: fc.boolean(),
    recursionAvailable: fc.boolean(),
    authenticData: fc.boolean(),
    checkingDisabled: fc.boolean(),
    responseCode: fc.integer({ min: 0, max: 15 }),
    questions: fc.array(fc.record({ name: anyName, type: uint16, class: uint16 }), { maxLength: 2 }),
    answers: fc.array(anyRecord, { maxLength: 5 }),
    authorities: fc.array(anyRecord, { maxLength: 3 }),
    additionals: fc.array(anyRecord, { maxLength: 3 }),
    edns: fc.option(fc.record({ udpBytesMax: uint16, version: fc.constant(0), dnssecOk: fc.boolean() })),
  })
  .map(({ edns, ...message }) => (edns ? { ...message, edns } : message))

/** Makes byte arrays of different types comparable by content. */
function plain(message: DnsMessage | undefined): unknown {
  const records = (all: readonly ResourceRecord[] = []): unknown => all.map(plainRecord)
  return {
    ...message,
    questions: message?.questions.map(question => ({ ...question })),
    edns: { ...message?.edns },
    answers: records(message?.answers),
    authorities: records(message?.authorities),
    additionals: records(message?.additionals),
  }
}

function plainRecord(record: ResourceRecord): unknown {
  const data = record.data.map(part => (typeof part === 'string' ? part : Buffer.from(part).toString('hex')))
  return { ...record, data }
}

test('a DNS message is equal after serialization and parsing', () => {
  fc.assert(
    fc.property(anyMessage, message => {
      const again = parseDnsMessage(serializeDnsMessage(message, tcpBytesMax))
      assert.deepEqual(plain(again), plain(message))
    }),
  )
})

test('a DNS message is truncated to the limit and has the TC bit set', () => {
  fc.assert(
    fc.property(anyMessage, fc.integer({ min: 300, max: 600 }), (message, bytesMax) => {
      const bytes = serializeDnsMessage({ ...message, questions: [] }, bytesMax)
      const read = parseDnsMessage(bytes)
      assert(read && bytes.length <= bytesMax)
      const isWhole =
        read.answers.length === message.answers.length &&
        read.authorities.length === message.authorities.length
      assert.equal(read.isTruncated, message.isTruncated || !isWhole)
      const kept = message.answers.slice(0, read.answers.length)
      assert.deepEqual(read.answers.map(plainRecord), kept.map(plainRecord))
    }),
  )
})

test('parsing random bytes ends with a DNS message or undefined', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), bytes => {
      const message = parseDnsMessage(bytes)
      if (message) serializeDnsMessage(message, tcpBytesMax)
      formErrResponse(bytes)
    }),
    { numRuns: 2_000 },
  )
  fc.assert(
    fc.property(
      anyMessage,
      fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { maxLength: 4 }),
      (message, changes) => {
        const bytes = Uint8Array.from(serializeDnsMessage(message, tcpBytesMax))
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte
        const changed = parseDnsMessage(bytes)
        if (changed) serializeDnsMessage(changed, tcpBytesMax)
        assert(changed === undefined || changed.answers.length <= 65_535)
      },
    ),
    { numRuns: 1_000 },
  )
})

test('malformed DNS messages are rejected', () => {
  const header = (...counts: readonly number[]): number[] => [
    0x12,
    0x34,
    1,
    0,
    ...counts.flatMap(count => [0, count]),
  ]
  const cases: Readonly<Record<string, readonly number[]>> = {
    'nothing': [],
    'half a header': header(1, 0, 0, 0).slice(0, 11),
    'a question that is not there': header(1, 0, 0, 0),
    'a name that refers to itself': [...header(1, 0, 0, 0), 0xc0, 12, 0, 1, 0, 1],
    'names that refer to each other': [...header(2, 0, 0, 0), 0xc0, 18, 0, 1, 0, 1, 0xc0, 12, 0, 1, 0, 1],
    'a reference forward': [...header(1, 0, 0, 0), 0xc0, 14, 0, 1, 0, 1, 0],
    'a label that goes beyond the end': [...header(1, 0, 0, 0), 63, 97],
    'a label of a kind that there is not': [...header(1, 0, 0, 0), 0x80, 0, 1, 0, 1],
    'a name that is too long': [
      ...header(1, 0, 0, 0),
      ...Array<number>(4)
        .fill(0)
        .flatMap(() => [63, ...Array<number>(63).fill(97)]),
      0,
      0,
      1,
      0,
      1,
    ],
    'data that goes beyond the end': [...header(0, 1, 0, 0), 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 10, 0],
    'a name in data that goes beyond the data': [
      ...header(0, 1, 0, 0),
      0,
      0,
      5,
      0,
      1,
      0,
      0,
      0,
      0,
      0,
      1,
      1,
      97,
      0,
    ],
    'two that speak of the message': [
      ...header(0, 0, 0, 2),
      ...[1, 2].flatMap(() => [0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0]),
    ],
    'one that has a name': [...header(0, 0, 0, 1), 1, 97, 0, 0, 41, 4, 0, 0, 0, 0, 0, 0, 0],
    'more records than bytes': [...header(0, 255, 255, 255)],
  }
  for (const [what, bytes] of Object.entries(cases))
    assert.equal(parseDnsMessage(Uint8Array.from(bytes)), undefined, what)
})

test('a malformed query gets FORMERR with its id, a malformed response nothing', () => {
  const malformed = Uint8Array.from([0xab, 0xcd, 0x01, 0, 0, 1, 0, 0, 0, 0, 0, 0])
  const answer = parseDnsMessage(formErrResponse(malformed)!)
  assert.deepEqual(
    [answer?.id, answer?.responseCode, answer?.isResponse, answer?.recursionDesired],
    [0xabcd, 1, true, true],
  )
  assert.equal(formErrResponse(malformed.with(2, 0x81)), undefined)
  assert.equal(formErrResponse(malformed.slice(0, 11)), undefined)
})

test('queries that take long to parse are recognized by their header', () => {
  const header = (counts: readonly number[]): Uint8Array =>
    Uint8Array.from([0, 7, 1, 0, ...counts.flatMap(count => [count >> 8, count & 255])])
  const cases: readonly (readonly [counts: readonly number[], isPlausible: boolean])[] = [
    [[1, 0, 0, 0], true],
    [[1, 0, 0, 3], true],
    [[0, 0, 0, 0], false],
    [[2, 0, 0, 0], false],
    [[1, 1, 0, 0], false],
    [[1, 0, 1, 0], false],
    [[1, 0, 0, 4], false],
  ]
  for (const [counts, isPlausible] of cases) assert.equal(isPlausibleQuery(header(counts)), isPlausible)
  assert.equal(isPlausibleQuery(header([1, 0, 0])), false)
  assert.equal(isPlausibleQuery(Buffer.concat([header([1, 0, 0, 0]), Buffer.alloc(5_000)])), false)
  const update = header([1, 0, 1, 0]).with(2, 5 << 3)
  assert.equal(parseDnsMessage(formErrResponse(update)!)?.responseCode, 4)
})

test('a message whose names all refer to one long name is not parsed to the end', () => {
  const long = Buffer.concat([...Array.from({ length: 126 }, () => Buffer.from([1, 97])), Buffer.from([0])])
  const others = Array.from({ length: 9_000 }, () => Buffer.from([0xc0, 12, 0, 1, 0, 1]))
  const header = Buffer.alloc(12)
  header.writeUInt16BE(others.length + 1, 4)
  const first = Buffer.concat([long, Buffer.from([0, 1, 0, 1])])
  assert.equal(parseDnsMessage(Buffer.concat([header, first, ...others])), undefined)
  header.writeUInt16BE(401, 4)
  assert.equal(parseDnsMessage(Buffer.concat([header, first, ...others]))?.questions.length, 401)
})

test('names are compressed, except in record types of later RFCs', () => {
  const name = 'web.shop.svc.cluster.local'
  const question = { name, type: 1, class: 1 }
  const sizeOf = (answers: readonly ResourceRecord[]): number => {
    return serializeDnsMessage({ ...emptyResponse, questions: [question], answers }, tcpBytesMax).length
  }
  const plainSize = sizeOf([])
  assert.equal(sizeOf([addressRecord(name, '10.96.0.5', 5)]) - plainSize, 16)
  const target = `a.${name}`
  const cname = nameRecord(name, { type: recordTypes.CNAME, target, ttlSeconds: 5 })
  assert.equal(sizeOf([cname]) - plainSize, 12 + 4)
  const srv = serviceRecord(name, { weight: 1, port: 1, target, ttlSeconds: 5 })
  assert.equal(sizeOf([srv]) - plainSize, 12 + 6 + target.length + 2)
})

test('many address records are truncated to those that fit', () => {
  const name = 'many.shop.svc.cluster.local'
  const answers = Array.from({ length: 100 }, (_, index) => addressRecord(name, `10.244.0.${index}`, 5))
  const message = { ...emptyResponse, questions: [{ name, type: 1, class: 1 }], answers }
  const cut = parseDnsMessage(serializeDnsMessage(message, plainUdpBytesMax))
  assert.deepEqual([cut?.isTruncated, cut?.answers.length], [true, 29])
})

test('validation of DNS names', () => {
  const cases: readonly (readonly [name: string, isName: boolean])[] = [
    ['', true],
    ['example.com', true],
    ['a\\.b.c', true],
    ['x'.repeat(63), true],
    ['x'.repeat(64), false],
    ['a..b', false],
    ['.', false],
    ['a.', false],
    [Array<string>(127).fill('a').join('.'), true],
    [Array<string>(128).fill('a').join('.'), false],
  ]
  for (const [name, isName] of cases) assert.equal(isDnsName(name), isName, name)
})
