import assert from 'node:assert/strict'
import { test } from 'node:test'
import { indentText, wrapParagraphs, wrapText } from './wrap-text.ts'

test('lines are broken at spaces, and line breaks are kept', () => {
  const check = (text: string, wrapped: string) => assert.equal(wrapText(text, 10), wrapped)
  check('', '')
  check('one two', 'one two')
  check('one two three', 'one two\nthree')
  check('one\ntwo\n', 'one\ntwo\n')
  check('one   two   three', 'one   two\nthree')
  check('  - item', '  - item')
  check('supercalifragilistic', 'supercalifragilistic')
  check('is supercalifragilistic x', 'is\nsupercalifragilistic\nx')
  check('123456789 \nnext', '123456789 \nnext')
  check('1234567890 \nnext', '1234567890\nnext')
  check('no\u00a0break at it', 'no\u00a0break\nat it')
  check('äöüäöüäöü ß', 'äöüäöüäöü\nß')
})

test('all lines are indented, also empty ones', () => {
  assert.equal(indentText('a\n\nb', 2), '  a\n  \n  b')
})

test('paragraphs are filled, and lists, code and empty lines are kept', () => {
  const check = (text: string, lines: readonly string[]) => assert.deepEqual(wrapParagraphs(text, 12), lines)
  check('', [])
  check('one\ntwo\nthree', ['one two', 'three'])
  check('one\n\ntwo\n\nthree', ['one', 'two', '', 'three'])
  check('as follows:\none two', ['as follows:', 'one two'])
  check('some\n- one\n- two', ['some', '- one', '- two'])
  check('see\n    code  as it is', ['see', '    code  as it is'])
  check('a-very-long-word-indeed b', ['a-very-long-word-indeed', 'b'])
})
