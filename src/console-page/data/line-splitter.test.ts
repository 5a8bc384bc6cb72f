import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineSplitter } from './line-splitter.ts'

function check(chunks: readonly string[], lines: readonly string[], rest?: string): void {
  const splitter = new LineSplitter({ charactersMax: 5 })
  const found = chunks.flatMap(chunk => splitter.push(chunk))
  assert.deepEqual([...found, splitter.end()], [...lines, rest])
}

test('LineSplitter joins chunks to lines, and cuts lines longer than the maximum', () => {
  check([], [])
  check(['ab\ncd\n'], ['ab', 'cd'])
  check(['a', 'b', '\nc'], ['ab'], 'c')
  check(['\n\n'], ['', ''])
  check(['abcdefgh\ni\n'], ['abcde', 'fgh', 'i'])
  check(['abcd', 'efghijkl', 'm\n'], ['abcde', 'fghij', 'klm'])
})
