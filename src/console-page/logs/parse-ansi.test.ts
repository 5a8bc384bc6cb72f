import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAnsi, plainText, wrapSegments } from './parse-ansi.ts'

function check(line: string, expected: string): void {
  const shown = parseAnsi(line).map(({ text, classes }) =>
    classes.length > 0 ? `{${classes.join()} ${text}}` : text,
  )
  assert.equal(shown.join(''), expected)
}

test('parseAnsi keeps colours as classes', () => {
  check('plain', 'plain')
  check('\u001B[31mred\u001B[0m rest', '{ansi-31 red} rest')
  check('\u001B[1;92mb\u001B[22mc\u001B[39md', '{ansi-1,ansi-92 b}{ansi-92 c}d')
  check('\u001B[mreset', 'reset')
  check('\u001B[38;5;31mindexed\u001B[38;2;1;2;31mtrue \u001B[32mg', 'indexedtrue {ansi-32 g}')
})

test('parseAnsi removes everything else that a terminal or browser would act on', () => {
  check('\u001B]0;title\u0007a\u001B]8;;http://evil\u001B\\link\u001B]8;;\u001B\\', 'alink')
  check('\u001B[2J\u001B[10;20Hb\u001B[?25l', 'b')
  check('\u001BPq#0\u001B\\c\u001B^x\u001B\\d\u001B_y', 'cd')
  check('a\rb\u0000c\u0007\u009Bd', 'abc')
  check('a\u202Egnp.exe\u200B', 'agnp.exe')
  check('unfinished \u001B[', 'unfinished ')
  check('unfinished \u001B]0;abc', 'unfinished ')
  check('a\tb', 'a    b')
  check('<img src=x onerror=alert(1)>', '<img src=x onerror=alert(1)>')
})

test('parseAnsi is bounded and does not slow down on hostile lines', () => {
  assert.equal(plainText('x'.repeat(1_000_000)).length, 10_000)
  assert.equal(plainText('\u001B]'.repeat(500_000)), '')
  assert.equal(plainText('\u001B['.repeat(500_000)), '')
})

test('wrapSegments cuts rows at the number of columns, counting wide characters twice', () => {
  const wrap = (line: string, columns: number): string[] =>
    wrapSegments(parseAnsi(line), columns).map(row => row.map(({ text }) => text).join('|'))
  assert.deepEqual(wrap('abcdef', 4), ['abcd', 'ef'])
  assert.deepEqual(wrap('ab\u001B[31mcdef', 3), ['ab|c', 'def'])
  assert.deepEqual(wrap('日本語', 4), ['日本', '語'])
  assert.deepEqual(wrap('', 4), [''])
  assert.deepEqual(wrap('ab', 1), ['a', 'b'])
})
