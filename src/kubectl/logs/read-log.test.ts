import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf } from './read-log.ts'

async function* pieces(texts: readonly string[]): AsyncGenerator<Uint8Array, void, undefined> {
  for (const text of texts) yield Buffer.from(text)
}

async function linesIn(texts: readonly string[]): Promise<readonly string[]> {
  const lines: string[] = []
  for await (const { bytes, isStart } of linesOf(pieces(texts))) {
    lines.push(`${isStart ? '' : '+'}${Buffer.from(bytes).toString()}`)
  }
  return lines
}

test('a log is split into whole lines', async () => {
  const check = async (texts: readonly string[], expected: readonly string[]): Promise<void> => {
    assert.deepEqual(await linesIn(texts), expected)
  }
  await check([], [])
  await check([''], [])
  await check(['a\nb\n'], ['a\n', 'b\n'])
  await check(['a', 'b\nc', '\n'], ['ab\n', 'c\n'])
  await check(['a\n\n', 'b'], ['a\n', '\n', 'b'])
})

test('a line that is too long is passed on in pieces', async () => {
  const long = 'x'.repeat(700_000)
  const lines = await linesIn([long, long, `${long}\n`, 'a\n'])
  assert.deepEqual(
    lines.map(line => (line.length > 10 ? `${line[0]}${line.length}` : line)),
    ['x1400000', '+700002', 'a\n'],
  )
})
