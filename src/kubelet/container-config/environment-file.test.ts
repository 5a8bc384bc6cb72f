import assert from 'node:assert/strict'
import { test } from 'node:test'
import { environmentFileValue } from './environment-file.ts'

test('environment files are parsed with shell quoting', () => {
  const text = `# comment
A='one'
  B='two' # what it is

LONG='first
  second' # end
EMPTY=''
SPACED= 'ignored'
QUOTES='a "b" $C'
LAST='end'`
  const cases: Readonly<Record<string, string>> = {
    A: 'one',
    B: 'two',
    LONG: 'first\n  second',
    EMPTY: '',
    SPACED: '',
    QUOTES: 'a "b" $C',
    LAST: 'end',
    MISSING: '',
  }
  for (const [key, expected] of Object.entries(cases))
    assert.equal(environmentFileValue(text, key), expected, key)
  assert.equal(environmentFileValue("A='one'\r\n", 'A'), 'one')
  assert.equal(environmentFileValue('', 'A'), '')
})

test('an invalid line of an environment file is rejected with its number', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['A', "invalid environment variable format at line 1: missing '='"],
    ["\n='x'", 'invalid environment variable format at line 2: empty variable name'],
    ["A ='x'", "invalid environment variable format at line 1: whitespace before '=' is not allowed"],
    ['A=x', 'invalid environment variable format at line 1: value must be enclosed in single quotes'],
    ['A=', 'invalid environment variable format at line 1: value must be enclosed in single quotes'],
    ["A='x' y", 'invalid environment variable format at line 1: unexpected content after closing quote'],
    ["B='1'\nA='x\ny", 'invalid environment variable format starting at line 2: unclosed single quote'],
  ]
  for (const [text, message] of cases) assert.throws(() => environmentFileValue(text, 'A'), { message }, text)
})
