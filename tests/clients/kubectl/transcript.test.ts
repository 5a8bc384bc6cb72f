import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstDifference, parseTranscript } from './transcript.ts'

test('a transcript is parsed into commands and their output', () => {
  const text =
    '# a remark\n$ first\none   two\n\n# needs 1.27\n$ second <<END\n> a\n>\n>  b\n> END\n[exit 1]\n'
  assert.deepEqual(parseTranscript(text), [
    { line: 2, command: 'first', expected: ['one two'], needs: 0, isEventual: false, isExact: false },
    {
      line: 6,
      command: 'second <<END\na\n\n b\nEND',
      expected: ['[exit 1]'],
      needs: 27,
      isEventual: false,
      isExact: false,
    },
  ])
  const eventual = parseTranscript('# eventually\n# a remark\n$ a\n$ b\n').map(step => step.isEventual)
  assert.deepEqual(eventual, [true, false])
  const needs = parseTranscript('$ a\n# all need 1.27\n$ b\n# needs 1.30\n$ c\n$ d\n').map(step => step.needs)
  assert.deepEqual(needs, [0, 27, 30, 27])
  assert.deepEqual(parseTranscript('# exact\n$ a\n  b   c \n')[0]?.expected, ['  b   c'])
  assert.throws(() => parseTranscript('one\n$ first\n'), /line 1 is printed by nothing/)
})

test('transcript output is compared line by line, with gaps', () => {
  const check = (expected: string, printed: string, difference?: string): void => {
    assert.equal(
      firstDifference({ expected: expected.split('|'), isExact: false }, printed.replaceAll('|', '\n')),
      difference,
    )
  }
  check('a b|c', 'a    b||c|')
  check('a', '\u001b[0;32ma\u001b[0m')
  check('a|b', 'a|c', 'c')
  check('a', 'a|b', 'b')
  check('a|b', 'a', 'nothing, but expected: b')
  check('web ... 3s', 'web 0/3 0 3s')
  check('web ... 3s', 'web 0/3 0 4s', 'web 0/3 0 4s')
  check('a...b...a', 'a b a')
  check('a...a', 'a', 'a')
  check('a...b...a', 'aba')
  check('...x...', 'y', 'y')
  check('a|...|z', 'a|b|c|z')
  check('a|...|z', 'a|b', 'nothing like: z')
  check('a|...', 'a|b')
  check('...|z', 'z|y', 'y')
  const exact = { expected: ['a  b', 'c ...   e'], isExact: true }
  assert.equal(firstDifference(exact, 'a  b \n\nc  10s  e\n'), undefined)
  assert.equal(firstDifference(exact, 'a b\nc\n'), 'a b')
})
