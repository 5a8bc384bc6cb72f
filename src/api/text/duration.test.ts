import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  DurationError,
  formatDuration,
  formatDurationMs,
  humanDuration,
  parseDuration,
  shortHumanDuration,
  tryParseDuration,
  tryParseDurationMs,
} from './duration.ts'
import { int64Max, int64Min } from './int64.ts'

/** `90m -> 1h30m0s`: the input and its canonical form. */
function check(lines: string): void {
  for (const line of lines.trim().split('\n')) {
    const [text = '', expected] = line.trim().split(' -> ')
    assert.equal(formatDuration(parseDuration(text)), expected, line)
  }
}

test('durations are parsed and formatted like in Go', () => {
  check(`
    0 -> 0s
    -0 -> 0s
    +0 -> 0s
    0s -> 0s
    5s -> 5s
    +5s -> 5s
    -5s -> -5s
    90m -> 1h30m0s
    1h30m -> 1h30m0s
    60s -> 1m0s
    100ms -> 100ms
    1500ms -> 1.5s
    -1.5s -> -1.5s
    1us -> 1µs
    1µs -> 1µs
    1μs -> 1µs
    1.5us -> 1.5µs
    12ns -> 12ns
    .5h -> 30m0s
    1.s -> 1s
    5.004s -> 5.004s
    1h1m1s1ms1us1ns -> 1h1m1.001001001s
    3m2h -> 2h3m0s
    0.3333333333333333333h -> 19m59.999999999s
    9223372036854775807ns -> 2562047h47m16.854775807s
    -9223372036854775808ns -> -2562047h47m16.854775808s
    0.100000000000000000000h -> 6m0s
    00000000000000000000000000001s -> 1s
  `)
})

test("invalid durations have Go's messages", () => {
  const refuse = (text: string, message: string): void => {
    assert.equal(tryParseDuration(text), undefined)
    assert.equal(tryParseDurationMs(text), undefined)
    assert.throws(
      () => parseDuration(text),
      error => error instanceof DurationError && error.message === message,
    )
  }
  for (const text of ['', '-', '+', '.', '.s', '-.s', '+.s', 's', 'h1', '--1s', ' 1s', '__proto__']) {
    refuse(text, `time: invalid duration "${text}"`)
  }
  refuse('1s ', 'time: unknown unit "s " in duration "1s "')
  refuse('1h-1m', 'time: unknown unit "h-" in duration "1h-1m"')
  refuse('3', 'time: missing unit in duration "3"')
  refuse('1s3', 'time: missing unit in duration "1s3"')
  refuse('1.2', 'time: missing unit in duration "1.2"')
  refuse('1d', 'time: unknown unit "d" in duration "1d"')
  refuse('1s\n', 'time: unknown unit "s\\n" in duration "1s\\n"')
})

test('durations beyond int64 are rejected', () => {
  const overflow = [
    '9223372036854775808ns',
    '-9223372036854775809ns',
    '2562048h',
    '9223372036854.775808s',
    '9'.repeat(100_000) + 's',
  ]
  for (const text of overflow) assert.equal(tryParseDuration(text), undefined, text.slice(0, 30))
})

test('durations are parsed in linear time', () => {
  assert.equal(parseDuration('1ns'.repeat(100_000)), 100_000n)
  assert.equal(tryParseDuration('1'.repeat(1_000_000)), undefined)
  assert.equal(tryParseDuration(`1${'s'.repeat(1_000_000)}`), undefined)
  assert.equal(parseDuration(`0.${'0'.repeat(1_000_000)}1s`), 0n)
})

test('formatted durations round trip', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: int64Min, max: int64Max }), nanoseconds => {
      assert.equal(parseDuration(formatDuration(nanoseconds)), nanoseconds)
    }),
  )
  fc.assert(
    fc.property(fc.string(), text => {
      const parsed = tryParseDuration(text)
      if (parsed !== undefined) assert.equal(parseDuration(formatDuration(parsed)), parsed)
    }),
  )
})

test('durations convert to and from milliseconds', () => {
  assert.equal(tryParseDurationMs('1.5s'), 1500)
  assert.equal(tryParseDurationMs('1us'), 0.001)
  assert.equal(formatDurationMs(90_000), '1m30s')
  assert.equal(formatDurationMs(0.5), '500µs')
})

test('humanDuration formats like kubectl', () => {
  const s = 1000
  const m = 60 * s
  const h = 60 * m
  const d = 24 * h
  const y = 365 * d
  const cases: readonly (readonly [number, string, string])[] = [
    [-2 * s, '<invalid>', '<invalid>'],
    [-1.9 * s, '0s', '0s'],
    [-1, '0s', '0s'],
    [0, '0s', '0s'],
    [999, '0s', '0s'],
    [59 * s, '59s', '59s'],
    [119 * s, '119s', '1m'],
    [120 * s, '2m', '2m'],
    [5 * m + 30 * s, '5m30s', '5m'],
    [10 * m + 30 * s, '10m', '10m'],
    [179 * m, '179m', '2h'],
    [3 * h, '3h', '3h'],
    [3 * h + 12 * m + 59 * s, '3h12m', '3h'],
    [8 * h + 12 * m, '8h', '8h'],
    [47 * h, '47h', '1d'],
    [48 * h, '2d', '2d'],
    [5 * d + 3 * h, '5d3h', '5d'],
    [8 * d - h, '7d23h', '7d'],
    [8 * d + 3 * h, '8d', '8d'],
    [y, '365d', '1y'],
    [2 * y - h, '729d', '1y'],
    [2 * y, '2y', '2y'],
    [2 * y + 45 * d, '2y45d', '2y'],
    [8 * y + 45 * d, '8y', '8y'],
    [Number.NaN, '<invalid>', '<invalid>'],
  ]
  for (const [age, human, short] of cases) {
    assert.deepEqual([humanDuration(age), shortHumanDuration(age)], [human, short], String(age))
  }
})
