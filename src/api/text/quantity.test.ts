import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  isZeroQuantity,
  multiplyQuantity,
  negateQuantity,
  normalizeQuantity,
  parseQuantity,
  quantityFromInteger,
  quantityFromMilli,
  quantityMilliValue,
  quantitySign,
  quantityToNumber,
  quantityValue,
  QuantityError,
  subtractQuantities,
  tryParseQuantity,
  zeroQuantity,
  type QuantityFormat,
} from './quantity.ts'

/** `1.5 -> 1500m`: the input and its canonical form. */
function check(lines: string): void {
  for (const line of lines.trim().split('\n')) {
    const [text = '', expected] = line.trim().split(' -> ')
    assert.equal(formatQuantity(parseQuantity(text)), expected, line)
  }
}

test('quantities with decimal suffixes are canonical', () => {
  check(`
    0 -> 0
    -0 -> 0
    0Ki -> 0
    0.0m -> 0
    1 -> 1
    +1 -> 1
    -1 -> -1
    007 -> 7
    1. -> 1
    1.G -> 1G
    .5 -> 500m
    1.5 -> 1500m
    1500m -> 1500m
    1000m -> 1
    10000 -> 10k
    100.035k -> 100035
    0.0005k -> 500m
    1000000n -> 1m
    5u -> 5u
    1000k -> 1M
    40.1T -> 40100G
    2.5P -> 2500T
    1.01E -> 1010P
    12E -> 12E
    1000E -> 1000E
    100000000000000000000000000 -> 100000000E
    -1.5k -> -1500
  `)
})

test('quantities with exponents are canonical', () => {
  check(`
    1e3 -> 1e3
    1E3 -> 1e3
    1e+3 -> 1e3
    1e4 -> 10e3
    1.2e3 -> 1200
    1e-3 -> 1e-3
    0.5e-1 -> 50e-3
    1.7E18 -> 1700e15
    1e100 -> 10e99
    0e7 -> 0
    1e0 -> 1
    1e000 -> 1
  `)
})

test('quantities with binary suffixes are canonical', () => {
  check(`
    1Ki -> 1Ki
    1024Ki -> 1Mi
    0.5Gi -> 512Mi
    1.5Gi -> 1536Mi
    1000Ki -> 1000Ki
    0.5Ki -> 512
    1023.5Ki -> 1048064
    100.035Ki -> 102435840m
    0.0001Ki -> 102400u
    -1Mi -> -1Mi
    -0.5Ki -> -512
    4Pi -> 4Pi
    3Ei -> 3Ei
    9Ei -> 9223372036854775807
    -9Ei -> -9223372036854775807
    9223372036854775807Ki -> 9223372036854775807
  `)
})

test('quantities below one nano are rounded away from zero', () => {
  check(`
    3.001n -> 4n
    0.9n -> 1n
    -0.9n -> -1n
    0.0000000001 -> 1n
    0.00000012345 -> 124n
    0.5e-9 -> 1e-9
    0.000000000001Ki -> 2n
    1e-1000 -> 1e-9
    0e-1000 -> 0
  `)
})

test('quantities keep their format', () => {
  const formats = (text: string): QuantityFormat => parseQuantity(text).format
  assert.equal(formats('1'), 'DecimalSI')
  assert.equal(formats('1E'), 'DecimalSI')
  assert.equal(formats('1E3'), 'DecimalExponent')
  assert.equal(formats('1Ei'), 'BinarySI')
  assert.equal(formats('0Ki'), 'BinarySI')
  assert.equal(formats('0.0001Ki'), 'DecimalSI')
})

test("invalid quantities have Kubernetes' messages", () => {
  const regexp = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
  const refuse = (message: string, texts: readonly string[]): void => {
    for (const text of texts) {
      assert.equal(tryParseQuantity(text), undefined, text.slice(0, 30))
      assert.equal(normalizeQuantity(text), undefined)
      assert.throws(
        () => parseQuantity(text),
        error => error instanceof QuantityError && error.message === message,
      )
    }
  }
  refuse(regexp, [
    '',
    ' ',
    ' 1',
    '1 ',
    '1\n',
    '-',
    '+',
    '.',
    'm',
    'Ki',
    '1.1.M',
    '1+1.0M',
    '0.1am',
    'aoeu',
    '--1',
    '1,5',
    '١',
    '1m\u0000',
    '__proto__',
    'constructor',
    '0x10',
    '1e3Ki',
  ])
  refuse("unable to parse quantity's suffix", [
    '1i',
    '.5i',
    '0.1mi',
    '-3.01i',
    '-3.01e-',
    '1e',
    '1K',
    '1ki',
    '1mm',
    '1k5',
    '1+5',
    '1e1001',
    '1e-1001',
    '1e999999999',
    '1e-999999999',
    `1e${'9'.repeat(900)}`,
  ])
  refuse('unable to parse numeric part of quantity', ['9'.repeat(5_000_000), `1e${'0'.repeat(100_000)}1`])
})

test('quantities accept the largest exponent and the longest text', () => {
  assert.equal(parseQuantity('1e1000').nanos, 10n ** 1009n)
  assert.equal(parseQuantity('9'.repeat(1_000)).nanos, (10n ** 1000n - 1n) * 10n ** 9n)
})

test('quantities keep their original text where Kubernetes does', () => {
  const same = [
    '0',
    '1',
    '100m',
    '1.125',
    '1E3',
    '+5',
    '007',
    '5.',
    '1e+3',
    '100Mi',
    '1Ki',
    '01Gi',
    '-1.125k',
    '1e03',
  ]
  for (const text of same) assert.equal(normalizeQuantity(text), text)
  const changed = {
    '1.5': '1500m',
    '0.125': '125m',
    '1000m': '1',
    '1024Ki': '1Mi',
    '1000Ki': '1000Ki',
    '1.5Gi': '1536Mi',
    '00': '0',
    '-0': '0',
    '0.5Ki': '512',
    '1e4': '10e3',
    '0.0001Ki': '102400u',
    '1000000000000000000000': '1000E',
    '1.0000000001': '1000000001n',
  }
  for (const [text, expected] of Object.entries(changed)) {
    assert.equal(normalizeQuantity(text), expected, text)
  }
})

test('quantities compare by value', () => {
  const compare = (a: string, b: string): number => compareQuantities(parseQuantity(a), parseQuantity(b))
  assert.equal(compare('1', '1000m'), 0)
  assert.equal(compare('1Ki', '1k'), 1)
  assert.equal(compare('-1', '1n'), -1)
  assert.equal(compare('10000T', '100Gi'), 1)
})

test('the sum with zero has the format of the other quantity', () => {
  const print = (quantity: Parameters<typeof formatQuantity>[0]): string => formatQuantity(quantity)
  const q = parseQuantity
  assert.equal(print(addQuantities(zeroQuantity, q('1Gi'))), '1Gi')
  assert.equal(print(addQuantities(q('1Gi'), zeroQuantity)), '1Gi')
  assert.equal(print(subtractQuantities(zeroQuantity, q('1Gi'))), '-1Gi')
  assert.equal(print(subtractQuantities(q('1Gi'), zeroQuantity)), '1Gi')
  assert.equal(print(addQuantities(q('1Gi'), q('1G'))), '2073741824')
  assert.equal(print(addQuantities(q('1Mi'), q('1m'))), '1048576001m')
  assert.equal(print(subtractQuantities(q('1'), q('100m'))), '900m')
  assert.equal(print(multiplyQuantity(q('250m'), 4)), '1')
  assert.equal(print(multiplyQuantity(q('512Mi'), 2n)), '1Gi')
  assert.equal(print(multiplyQuantity(q('8Ei'), 1024)), '9223372036854775807Ki')
  assert.equal(print(quantityFromInteger(2n ** 73n, 'BinarySI')), '8192Ei')
})

test('quantities convert to numbers, integers rounded away from zero', () => {
  const cases: readonly (readonly [string, number, bigint, bigint])[] = [
    ['1500m', 1.5, 2n, 1500n],
    ['-1500m', -1.5, -2n, -1500n],
    ['1n', 1e-9, 1n, 1n],
    ['0', 0, 0n, 0n],
    ['1Ki', 1024, 1024n, 1024000n],
    ['-0.1n', -1e-9, -1n, -1n],
    ['9007199254740993', 9007199254740992, 9007199254740993n, 9007199254740993000n],
    ['123456789012345678.5', 123456789012345680, 123456789012345679n, 123456789012345678500n],
    ['1e400', Infinity, 10n ** 400n, 10n ** 403n],
  ]
  for (const [text, number, value, milli] of cases) {
    const quantity = parseQuantity(text)
    assert.deepEqual(
      [quantityToNumber(quantity), quantityValue(quantity), quantityMilliValue(quantity)],
      [number, value, milli],
    )
  }
})

test('quantitySign returns the sign', () => {
  assert.deepEqual(
    ['-1n', '0', '1n'].map(text => quantitySign(parseQuantity(text))),
    [-1, 0, 1],
  )
  assert.deepEqual(
    ['0Ki', '1n'].map(text => isZeroQuantity(parseQuantity(text))),
    [true, false],
  )
})

const amounts = fc
  .tuple(
    fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }),
    fc.constantFrom<QuantityFormat>('BinarySI', 'DecimalSI', 'DecimalExponent'),
  )
  .map(([nanos, format]) => ({ nanos, format }))

test('formatted quantities round trip', () => {
  fc.assert(
    fc.property(amounts, quantity => {
      const text = formatQuantity(quantity)
      const again = parseQuantity(text)
      // Values with a binary suffix are capped at 2^63 when parsed; these amounts are far below.
      assert.equal(again.nanos, quantity.nanos)
      assert.equal(formatQuantity(again), text)
      assert.equal(formatQuantity(parseQuantity(normalizeQuantity(text) ?? '')), text)
    }),
  )
})

test('quantity arithmetic is exact', () => {
  fc.assert(
    fc.property(amounts, amounts, fc.integer(), (a, b, factor) => {
      assert.equal(compareQuantities(subtractQuantities(addQuantities(a, b), b), a), 0)
      assert.equal(addQuantities(a, negateQuantity(a)).nanos, 0n)
      assert.equal(multiplyQuantity(a, factor).nanos, a.nanos * BigInt(factor))
      assert.equal(Math.sign(compareQuantities(a, b)), -Math.sign(compareQuantities(b, a)) + 0)
    }),
  )
  fc.assert(
    fc.property(fc.maxSafeInteger(), value => {
      assert.equal(quantityValue(quantityFromInteger(value, 'DecimalSI')), BigInt(value))
      assert.equal(quantityMilliValue(quantityFromMilli(value, 'DecimalSI')), BigInt(value))
      assert.equal(quantityToNumber(quantityFromMilli(value, 'DecimalSI')), value / 1000)
    }),
  )
})

test('any text parses as a quantity or throws QuantityError', () => {
  const texts = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[+-]?[0-9.]{0,30}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,9}$/),
  )
  fc.assert(
    fc.property(texts, text => {
      try {
        const quantity = parseQuantity(text)
        assert.equal(parseQuantity(formatQuantity(quantity)).nanos, quantity.nanos)
      } catch (error) {
        assert.ok(error instanceof QuantityError)
      }
    }),
    { numRuns: 500 },
  )
})

test('quantities are frozen', () => {
  const quantity = parseQuantity('123m')
  assert.equal(parseQuantity('123m'), quantity)
  assert.throws(() => Object.assign(quantity, { nanos: 0n }), TypeError)
  for (let index = 0; index < 5_000; index++) {
    assert.equal(parseQuantity(`${index}m`).nanos, BigInt(index) * 1_000_000n)
  }
})
