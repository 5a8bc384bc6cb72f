import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quote } from '#/api/text/quote.ts'
import { UsageError, type Flag } from '#/base/flags.ts'
import {
  boolFlag,
  durationFlag,
  enumFlag,
  int32Flag,
  intFlag,
  invalidArgument,
  keyValueFlag,
  stringArrayFlag,
  stringFlag,
  stringSliceFlag,
} from './flag-types.ts'

/** A result, or a part of the error. */
type Expected = { readonly value: unknown } | { readonly error: string }

function check(flag: Flag<unknown>, texts: readonly string[], expected: Expected): void {
  if ('value' in expected) assert.deepEqual(flag.read(texts), expected.value)
  else assert.throws(() => flag.read(texts), new UsageError(expected.error))
}

test('a boolean is one of the words of strconv.ParseBool, and the last value counts', () => {
  for (const text of ['1', 't', 'T', 'true', 'TRUE', 'True']) check(boolFlag(''), [text], { value: true })
  for (const text of ['0', 'f', 'F', 'false', 'FALSE', 'False']) {
    check(boolFlag(''), ['true', text], { value: false })
  }
  for (const text of ['', 'tRUE', 'yes', ' true', '2']) {
    check(boolFlag(''), [text], { error: `strconv.ParseBool: parsing ${quote(text)}: invalid syntax` })
  }
})

test('an integer may be decimal, hexadecimal, octal or binary, with underscores', () => {
  const valid: Readonly<Record<string, number>> = {
    '0': 0,
    '42': 42,
    '+5': 5,
    '-5': -5,
    '1_000': 1000,
    '0x1F': 31,
    '-0x5': -5,
    '0b11': 3,
    '0o17': 15,
    '017': 15,
  }
  for (const [text, value] of Object.entries(valid)) check(intFlag(''), [text], { value })
  for (const text of ['', 'a', '1.5', '08', '1__0', '_1', '1_', '0x', '1e3', '--1', ' 1']) {
    check(intFlag(''), [text], { error: `strconv.ParseInt: parsing ${quote(text)}: invalid syntax` })
  }
  const large = '99999999999999999999'
  check(intFlag(''), [large], { error: `strconv.ParseInt: parsing "${large}": value out of range` })
})

test('an integer of 32 bits has its range', () => {
  check(int32Flag(''), ['2147483647'], { value: 2 ** 31 - 1 })
  check(int32Flag(''), ['-2147483648'], { value: -(2 ** 31) })
  for (const text of ['2147483648', '-2147483649']) {
    check(int32Flag(''), [text], { error: `strconv.ParseInt: parsing "${text}": value out of range` })
  }
})

test('a duration has units', () => {
  check(durationFlag(''), ['1h1m1.5s'], { value: 3_661_500 })
  check(durationFlag(''), ['0'], { value: 0 })
  check(durationFlag(''), ['-1ms'], { value: -1 })
  check(durationFlag(''), ['5'], { error: 'time: missing unit in duration "5"' })
  check(durationFlag(''), ['1d'], { error: 'time: unknown unit "d" in duration "1d"' })
  check(durationFlag(''), ['x'], { error: 'time: invalid duration "x"' })
  check(durationFlag(''), [''], { error: 'time: invalid duration ""' })
})

test('texts are taken as they are, and a list of them is not split', () => {
  check(stringFlag(''), ['a', ' b,c '], { value: ' b,c ' })
  check(stringArrayFlag(''), ['a,b', '', 'c'], { value: ['a,b', '', 'c'] })
})

test('a list is a line of comma-separated values in which quotes enclose commas', () => {
  const valid: readonly (readonly [readonly string[], readonly string[]])[] = [
    [
      ['a,b', 'c'],
      ['a', 'b', 'c'],
    ],
    [[''], []],
    [[','], ['', '']],
    [['a,'], ['a', '']],
    [['"a,b",c'], ['a,b', 'c']],
    [['"a""b"'], ['a"b']],
    [['""'], ['']],
    [[' a , b'], [' a ', ' b']],
  ]
  for (const [texts, value] of valid) check(stringSliceFlag(''), texts, { value })
  const invalid: Readonly<Record<string, string>> = {
    'a"b': 'column 2: bare " in non-quoted-field',
    '"a': 'column 3: extraneous or missing " in quoted-field',
    '"a"b': 'column 3: extraneous or missing " in quoted-field',
    'a,"b': 'column 5: extraneous or missing " in quoted-field',
  }
  for (const [text, error] of Object.entries(invalid)) {
    check(stringSliceFlag(''), [text], { error: `parse error on line 1, ${error}` })
  }
})

test('a choice is one of its words', () => {
  const flag = enumFlag(['none', 'all'], { help: '' })
  check(flag, ['all', 'none'], { value: 'none' })
  check(flag, ['None'], { error: 'must be one of none, all' })
})

test('an invalid value is reported with the names of the flag', () => {
  const reason = 'strconv.ParseInt: parsing "a": invalid syntax'
  const report = (shorthand?: string): string =>
    invalidArgument({ name: 'v', flag: intFlag('', shorthand ? { shorthand } : {}), text: 'a', reason })
  assert.equal(report(), `invalid argument "a" for "--v" flag: ${reason}`)
  assert.equal(report('v'), `invalid argument "a" for "-v, --v" flag: ${reason}`)
})

test('pairs of a flag are separated by commas if there are several', () => {
  const checkPairs = (texts: readonly string[], expected: Readonly<Record<string, string>>): void => {
    assert.deepEqual(Object.fromEntries(keyValueFlag('').read(texts)), expected)
  }
  checkPairs(['a=b'], { a: 'b' })
  checkPairs(['a=b,c=d', 'e='], { a: 'b', c: 'd', e: '' })
  checkPairs(['a=b,c'], { a: 'b,c' })
  checkPairs(['"a=b,c",d=e'], { a: 'b,c', d: 'e' })
  checkPairs(['a=b', 'a=c'], { a: 'c' })
  for (const text of ['a', 'a=b,c=d,e']) {
    assert.throws(() => keyValueFlag('').read([text]), UsageError)
  }
})
