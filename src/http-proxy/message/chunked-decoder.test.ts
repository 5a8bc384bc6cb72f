import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChunkedDecoder } from './chunked-decoder.ts'

interface Decoded {
  readonly data: string
  readonly state: 'done' | 'malformed' | 'open'
  readonly used: number
  readonly trailers: readonly string[]
}

function decode(text: string, pieceLength: number): Decoded {
  let data = ''
  let used = 0
  const decoder = new ChunkedDecoder(bytes => (data += Buffer.from(bytes).toString('latin1')))
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length && !decoder.isDone && !decoder.isMalformed; at += pieceLength)
    used += decoder.decode(bytes.subarray(at, at + pieceLength))
  const state = decoder.isDone ? 'done' : decoder.isMalformed ? 'malformed' : 'open'
  return { data, state, used, trailers: decoder.trailers }
}

test('a chunked body is decoded the same in pieces of any size, and what follows is left', () => {
  const cases: readonly (readonly [
    text: string,
    data: string,
    state: Decoded['state'],
    trailers?: string,
  ])[] = [
    ['0\r\n\r\n', '', 'done'],
    ['5\r\nhello\r\n0\r\n\r\nNEXT', 'hello', 'done'],
    ['A;x="y"\r\n0123456789\r\n01\r\n!\r\n000\r\n\r\n', '0123456789!', 'done'],
    ['1\r\na\r\n0\r\nX: 1\r\nY: 2\r\n\r\nNEXT', 'a', 'done', 'x,1,y,2'],
    ['5\r\nhel', 'hel', 'open'],
    ['0\r\nX: 1\r\n', '', 'open'],
    ['5\nhello', '', 'malformed'],
    ['g\r\n', '', 'malformed'],
    ['5\r\nhelloX', 'hello', 'malformed'],
    ['1000000000000000\r\n', '', 'malformed'],
    [`1;${'x'.repeat(5_000)}\r\n`, '', 'malformed'],
    [`0\r\n${'X: 1\r\n'.repeat(2_000)}`, '', 'malformed'],
  ]
  for (const [text, data, state, trailers = ''] of cases) {
    for (const pieceLength of [1, 2, 3, 7, 100_000]) {
      const decoded = decode(text, pieceLength)
      const what = `${text.slice(0, 60)} in pieces of ${pieceLength}`
      assert.deepEqual([decoded.data, decoded.state, decoded.trailers.join()], [data, state, trailers], what)
      if (text.endsWith('NEXT')) assert.equal(decoded.used, text.length - 4, what)
    }
  }
})
