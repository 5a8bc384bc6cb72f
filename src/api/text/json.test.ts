import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryJson } from './arbitrary-json.ts'
import { DecodeError, type DecodeErrorReason } from '../decoding/decode-error.ts'
import { depthMax, parseJson, stringifyJson, type ParseOptions } from './json.ts'
import type { JsonValue } from './json-value.ts'

function check(text: string | Uint8Array, expected: JsonValue): void {
  assert.deepEqual(parseJson(text), expected)
}

function refuses(
  text: string | Uint8Array,
  reason: DecodeErrorReason,
  message: RegExp,
  options: ParseOptions = {},
): void {
  assert.throws(
    () => parseJson(text, options),
    error => error instanceof DecodeError && error.reason === reason && message.test(error.message),
  )
}

test('JSON int64 values keep every digit', () => {
  check('9007199254740991', 9007199254740991)
  check('9007199254740992', 9007199254740992n)
  check('-9007199254740993', -9007199254740993n)
  check('[9223372036854775807,-9223372036854775808]', [9223372036854775807n, -9223372036854775808n])
  check('{"a":[{"b":9007199254740993}],"c":1.5}', { a: [{ b: 9007199254740993n }], c: 1.5 })
})

test('JSON numbers are doubles unless they are int64', () => {
  check('9223372036854775808', 9223372036854775808)
  check('-1e300', -1e300)
  check('1e17', 100000000000000000n)
  check('9007199254740993.5', 9007199254740994n)
  check(`[${'1'.repeat(300)}]`, [Number('1'.repeat(300))])
})

test('JSON numbers that overflow a double are rejected', () => {
  refuses('1e999', 'syntax', /float64/)
  refuses('{"a":[-1e400]}', 'syntax', /float64/)
  refuses('9'.repeat(400), 'syntax', /float64/)
})

test('JSON strings are never confused with numbers', () => {
  const strings = String.raw`"\u00019007199254740993","\u0001","\u0001\u00011"`
  const text = String.raw`[${strings},9007199254740993,{"\u00011" : "\u00012"}]`
  check(text, ['\x019007199254740993', '\x01', '\x01\x011', 9007199254740993n, { '\x011': '\x012' }])
})

test('invalid UTF-8 and lone surrogates become U+FFFD, pairs stay', () => {
  check(Buffer.from([0x22, 0x61, 0xff, 0x62, 0x22]), 'a\ufffdb')
  check(String.raw`"\ud83d\ude00 \uD83D \udE00\ud83d"`, '😀 \ufffd \ufffd\ufffd')
  check(String.raw`{"\ud800":"\\ud800"}`, { '\ufffd': String.raw`\ud800` })
  check('"\ud800"', '\ufffd')
})

test('JSON key __proto__ is an ordinary member', () => {
  for (const text of ['{"__proto__":{"polluted":1}}', '{"__proto__":{"polluted":9007199254740993}}']) {
    const value = parseJson(text)
    assert.deepEqual(Object.keys(value as object), ['__proto__'])
    assert.equal(Object.getPrototypeOf(value), Object.prototype)
    assert.equal(stringifyJson(value), text)
  }
  assert.equal(({} as { polluted?: unknown }).polluted, undefined)
})

test('JSON depth is bounded', () => {
  const nested = (levels: number, inside: string) => `${'['.repeat(levels)}${inside}${']'.repeat(levels)}`
  assert.doesNotThrow(() => parseJson(nested(depthMax, '9007199254740993')))
  for (const levels of [depthMax + 1, 10_000, 1_000_000]) {
    refuses(nested(levels, ''), 'too-deep', /max depth of 1000/)
  }
  refuses('{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000), 'too-deep', /max depth/)
  check(`["${'['.repeat(100_000)}"]`, ['['.repeat(100_000)])
})

test('JSON size is bounded', () => {
  refuses(Buffer.alloc(50_000_000, '['), 'too-large', /limit is 3145728/, { maxBytes: 3_145_728 })
  refuses('"éé"', 'too-large', /limit is 5/, { maxBytes: 5 })
  assert.equal(parseJson('"éé"', { maxBytes: 6 }), 'éé')
})

test('invalid JSON is rejected', () => {
  refuses('', 'syntax', /^unexpected end of JSON input$/)
  refuses('{"a":}', 'syntax', /^invalid character '}' looking for beginning of value$/)
})

test('a bigint is serialized as a JSON number', () => {
  assert.equal(stringifyJson({ a: [9007199254740993n, -1n], b: 'x' }), '{"a":[9007199254740993,-1],"b":"x"}')
})

test('JSON values round trip', () => {
  fc.assert(
    fc.property(arbitraryJson, value => {
      check(stringifyJson(value), value)
      check(Buffer.from(stringifyJson(value)), value)
    }),
    { numRuns: 200 },
  )
})

test('any bytes parse as JSON or throw DecodeError', () => {
  const fragments = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    '"',
    '\\',
    'u',
    'd',
    '8',
    ',',
    ':',
    '1',
    '9007199254740993',
    'e',
    ' ',
  )
  const texts = fc.array(fragments, { maxLength: 12 }).map(parts => Buffer.from(parts.join('')))
  fc.assert(
    fc.property(fc.oneof(texts, fc.uint8Array({ maxLength: 20 })), bytes => {
      try {
        parseJson(bytes)
      } catch (error) {
        assert(error instanceof DecodeError)
      }
    }),
    { numRuns: 1000 },
  )
})
