import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { converted, map, message, type Message, ProtobufError, sparseMessage } from './protobuf.ts'

const Point = message({ x: [1, 'sint32'], y: [2, 'sint32'] })

const Everything = message({
  int32: [1, 'int32'],
  uint32: [2, 'uint32'],
  sint32: [3, 'sint32'],
  fixed32: [4, 'fixed32'],
  sfixed32: [5, 'sfixed32'],
  int64: [6, 'int64'],
  uint64: [7, 'uint64'],
  sint64: [8, 'sint64'],
  fixed64: [9, 'fixed64'],
  sfixed64: [10, 'sfixed64'],
  int53: [11, 'int53'],
  float: [12, 'float'],
  double: [13, 'double'],
  bool: [14, 'bool'],
  string: [15, 'string'],
  bytes: [16, 'bytes'],
  maybe: [17, 'string', 'optional'],
  point: [18, Point],
  points: [19, Point, 'repeated'],
  numbers: [20, 'sint64', 'repeated'],
  names: [21, 'string', 'repeated'],
  labels: [22, map('string', 'string')],
  byNumber: [23, map('int64', Point)],
  byFlag: [24, map('bool', 'double')],
  distant: [536_870_911, 'uint32'],
})

interface Tree {
  readonly name: string
  readonly children: readonly Tree[]
}
const Tree: Message<Tree> = message({ name: [1, 'string'], children: [2, () => Tree, 'repeated'] })

const Choice = message(
  { text: [1, 'string', 'optional'], number: [2, 'int32', 'optional'], point: [3, Point] },
  { oneOf: [['text', 'number', 'point']] },
)

const anyBytes = fc.uint8Array({ maxLength: 300 })
const anyText = fc.string({ unit: 'binary', maxLength: 200 })
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const uint32 = fc.nat({ max: 2 ** 32 - 1 })
const signed = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const unsigned = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const int64 = fc.oneof(signed, fc.maxSafeInteger()).map(narrowed)
const uint64 = fc.oneof(unsigned, fc.maxSafeNat()).map(narrowed)
const ordinary = { noNullPrototype: true }
const point = fc.record({ x: int32, y: int32 }, ordinary)

const anything = fc.record(
  {
    int32,
    uint32,
    sint32: int32,
    fixed32: uint32,
    sfixed32: int32,
    int64,
    uint64,
    sint64: int64,
    fixed64: uint64,
    sfixed64: int64,
    int53: fc.maxSafeInteger(),
    float: fc.float(),
    double: fc.double(),
    bool: fc.boolean(),
    string: anyText,
    bytes: anyBytes,
    maybe: fc.option(anyText, { nil: undefined }),
    point: fc.option(point, { nil: undefined }),
    points: fc.array(point),
    numbers: fc.array(int64),
    names: fc.array(anyText),
    labels: fc.dictionary(fc.oneof(anyText, fc.constantFrom('__proto__', 'constructor')), anyText, ordinary),
    byNumber: fc.dictionary(int64.map(String), point, ordinary),
    byFlag: fc.dictionary(fc.constantFrom('true', 'false'), fc.double(), ordinary),
    distant: uint32,
  },
  ordinary,
)

test('decoding undoes encoding', () => {
  fc.assert(
    fc.property(anything, value => {
      assert.deepEqual(Everything.decode(Everything.encode(value)), value)
    }),
    { numRuns: 300 },
  )
})

test('the bytes are those of the specification', () => {
  const check = (encoded: Uint8Array, hex: string): void => {
    assert.equal(Buffer.from(encoded).toString('hex'), hex)
  }
  const One = message({ a: [1, 'int32'], b: [2, 'string'], c: [3, Point], d: [4, 'int32', 'repeated'] })
  check(One.encode({ a: 150 }), '089601')
  check(One.encode({ a: -1 }), '08ffffffffffffffffff01')
  check(One.encode({ b: 'testing' }), '120774657374696e67')
  check(One.encode({ c: { x: -1, y: 1 } }), '1a0408011002')
  check(One.encode({ d: [3, 270, 86942] }), '2206038e029ea705')
  check(One.encode({ a: 0, b: '', d: [] }), '')
  const Wide = message({ a: [1, 'fixed64'], b: [2, 'double'] })
  check(Wide.encode({ a: 1, b: 1 }), '09010000000000000011000000000000f03f')
  check(message({ a: [1, map('string', 'int32')] }).encode({ a: { k: 1 } }), '0a050a016b1001')
  const Sparse = sparseMessage({ a: [1, 'int32'], d: [4, 'int32', 'repeated'] })
  check(Sparse.encode({ a: 0, d: [1, 2] }), '080020012002')
})

test('repeated numbers are read packed and unpacked, and 64-bit numbers stay exact', () => {
  const Numbers = message({ list: [4, 'int32', 'repeated'] })
  assert.deepEqual(Numbers.decode(hex('2001 2202 0203 2004')), { list: [1, 2, 3, 4] })
  const Wide = message({ a: [1, 'uint64'], b: [2, 'int64'] })
  const wide = hex('08ffffffffffffffffff01 10ffffffffffffffffff01')
  assert.deepEqual(Wide.decode(wide), { a: 2n ** 64n - 1n, b: -1 })
})

test('absent protobuf fields are zero, omitted or undefined by their declaration', () => {
  assert.deepEqual(Point.decode(hex('')), { x: 0, y: 0 })
  assert.deepEqual(Choice.decode(hex('')), { text: undefined, number: undefined, point: undefined })
  const labels = map('string', 'string')
  const Sparse = sparseMessage({ a: [1, 'int32'], list: [2, 'string', 'repeated'], labels: [3, labels] })
  assert.deepEqual(Sparse.decode(hex('')), {})
  assert.deepEqual(Sparse.decode(hex('0800')), { a: 0 })
  const Places = message({ m: [1, map('string', Point)] })
  assert.deepEqual(Places.decode(hex('0a00')), { m: { '': { x: 0, y: 0 } } })
})

test('of a oneof the last field wins, and encoding two fails', () => {
  const both = Buffer.concat([Choice.encode({ text: 'a' }), Choice.encode({ number: 0 })])
  assert.deepEqual(Choice.decode(both), { text: undefined, number: 0, point: undefined })
  assert.throws(() => Choice.encode({ text: 'a', number: 1 }), ProtobufError)
})

test('repeated occurrences of a submessage are merged', () => {
  assert.deepEqual(Choice.decode(hex('1a020802 1a021004')).point, { x: 1, y: 2 })
})

test('a converted type has its own form, also when the conversion encodes a message', () => {
  const Wrapped = message({
    place: [
      1,
      converted('bytes', {
        decode: (bytes: Uint8Array) => JSON.stringify(Point.decode(bytes)),
        encode: (text: string) => Point.encode(JSON.parse(text) as { x: number; y: number }),
      }),
    ],
    after: [2, 'string'],
  })
  const value = { place: '{"x":1,"y":-2}', after: 'that' }
  assert.deepEqual(Wrapped.decode(Wrapped.encode(value)), value)
  assert.equal(Wrapped.decode(hex('')).place, undefined)
})

test('unknown fields, groups and wrong wire types are skipped', () => {
  const unknown = '9a0103616263 a00105 a9010000000000000000 b501 00000000 bb01 c00105 c301c401 bc01'
  assert.deepEqual(Point.decode(hex(`0802 ${unknown} 1004`)), { x: 1, y: 2 })
  assert.deepEqual(Point.decode(hex('0a0161 1004')), { x: 0, y: 2 })
})

test('invalid protobuf bytes are rejected with an error that names the field', () => {
  const check = (bytes: string, text: RegExp): void => {
    const complaint = (error: unknown): boolean => error instanceof ProtobufError && text.test(error.message)
    assert.throws(() => Everything.decode(hex(bytes)), complaint, bytes)
  }
  check('08', /^int32: unexpected end of input$/)
  check('0880', /unexpected end of input/)
  check('08ffffffffffffffffffff01', /varint too long/)
  check('08ffffffffffffffffff02', /varint too long/)
  check('7a05', /^string: .*unexpected end of input/)
  check('7affffffff0f', /^string: .*unexpected end of input/)
  check('7affffffffffffffffff01', /unexpected end of input/)
  check('9201 02 0880', /^point: x: .*unexpected end of input/)
  check('7a02c328', /UTF-8/)
  check('58ffffffffffffffff7f', /^int53: .*out of range/)
  check('00', /number/)
  check('ffffffffff01', /number/)
  check('07', /number/)
  check('be01', /wire type/)
  check('bc01', /wire type/)
  check('bb01c401', /unexpected end group/)
  check('bb01', /unexpected end of input/)
  check('21000000', /unexpected end of input/)
})

test('nesting depth is bounded when decoding and encoding', () => {
  let tree: Tree = { name: 'leaf', children: [] }
  for (let depth = 0; depth < 100; depth++) tree = { name: '', children: [tree] }
  assert.deepEqual(Tree.decode(Tree.encode(tree)), tree)
  assert.throws(() => Tree.encode({ name: '', children: [tree] }), /too deep/)
  let bytes = Buffer.alloc(0)
  for (let depth = 0; depth < 101; depth++) bytes = Buffer.concat([hex('12'), varint(bytes.length), bytes])
  assert.throws(() => Tree.decode(bytes), ProtobufError)
  assert.throws(() => Point.decode(Buffer.alloc(1_000_000, 0x1b)), /too deep/)
  const circle: { name: string; children: Tree[] } = { name: '', children: [] }
  circle.children.push(circle)
  assert.throws(() => Tree.encode(circle), /too deep/)
})

test('random bytes give a value or a ProtobufError and no prototype changes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), bytes => {
      try {
        Everything.decode(bytes)
      } catch (error) {
        assert.ok(error instanceof ProtobufError, String(error))
      }
    }),
    { numRuns: 1_000 },
  )
  fc.assert(
    fc.property(anything, fc.nat(), fc.integer({ min: 0, max: 255 }), (value, at, byte) => {
      const bytes = Everything.encode(value)
      if (bytes.length > 0) bytes[at % bytes.length] = byte
      try {
        Everything.decode(bytes)
      } catch (error) {
        assert.ok(error instanceof ProtobufError, String(error))
      }
    }),
    { numRuns: 300 },
  )
  const hostile = JSON.parse('{"__proto__":"x"}') as {}
  const { labels } = Everything.decode(Everything.encode({ labels: hostile }))
  assert.deepEqual(Object.entries(labels), [['__proto__', 'x']])
  assert.equal(Object.getPrototypeOf(labels), Object.prototype)
})

test('encoding a value of the wrong type fails and names the field', () => {
  const check = (value: object, field: RegExp): void => {
    const complaint = (error: unknown): boolean => error instanceof ProtobufError && field.test(error.message)
    assert.throws(() => Everything.encode(value), complaint)
  }
  check({ int32: 2 ** 31 }, /^int32:/)
  check({ int32: 1.5 }, /^int32:/)
  check({ int32: '1' }, /^int32:/)
  check({ uint32: -1 }, /^uint32:/)
  check({ uint64: -1 }, /^uint64:/)
  check({ int64: 2n ** 63n }, /^int64:/)
  check({ int64: 2 ** 60 }, /^int64:/)
  check({ string: 1 }, /^string:/)
  check({ bytes: 'text' }, /^bytes:/)
  check({ points: { x: 1 } }, /^points:/)
  check({ points: [null] }, /^points:/)
  check({ labels: { a: undefined } }, /^labels:/)
  assert.deepEqual(Everything.encode({}), new Uint8Array(0), 'a failure leaves nothing behind')
})

function narrowed(value: number | bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number + 0 : value
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex')
}

function varint(value: number): Buffer {
  return value < 128 ? Buffer.from([value]) : Buffer.from([(value & 0x7f) | 0x80, value >>> 7])
}
