import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findTail } from './find-tail.ts'

function line(text: string, tag = 'F'): string {
  return `2024-01-01T00:00:00.123456789Z stdout ${tag} ${text}\n`
}

async function tail(file: string, lines: number): Promise<string> {
  const bytes = Buffer.from(file)
  const read = async (offset: number, length: number): Promise<Uint8Array> =>
    bytes.subarray(offset, offset + length)
  return bytes.subarray(await findTail({ read, sizeBytes: bytes.length }, lines)).toString()
}

test('the tail of a log begins at a line', async () => {
  const file = line('1') + line('2') + line('3')
  assert.equal(await tail(file, 0), '')
  assert.equal(await tail(file, 1), line('3'))
  assert.equal(await tail(file, 2), line('2') + line('3'))
  assert.equal(await tail(file, 3), file)
  assert.equal(await tail(file, 100), file)
  assert.equal(await tail('', 5), '')
})

test('a partial line and an unfinished line count as one line', async () => {
  const long = line('a', 'P') + line('b', 'P') + line('c')
  assert.equal(await tail(line('1') + long, 1), long)
  assert.equal(await tail(line('1') + long + line('2'), 2), long + line('2'))
  assert.equal(await tail(line('1') + line('a', 'P'), 1), line('a', 'P'))
  const open = line('1').slice(0, -1)
  assert.equal(await tail(line('0') + open, 1), open)
  assert.equal(await tail(line('0') + open, 2), line('0') + open)
})

test('finding the tail reads only the end of a large file', async () => {
  const filler = line('x'.repeat(10_000)).repeat(2_000)
  const bytes = Buffer.from(filler + line('last'))
  let readBytes = 0
  const read = async (offset: number, length: number): Promise<Uint8Array> => {
    readBytes += length
    return bytes.subarray(offset, offset + length)
  }
  const at = await findTail({ read, sizeBytes: bytes.length }, 3)
  assert.equal(bytes.subarray(at).toString(), line('x'.repeat(10_000)).repeat(2) + line('last'))
  assert.ok(readBytes < 200_000, `${readBytes}`)
})

test('the tail is found across block boundaries, and a file of one long line bounds the search', async () => {
  for (let length = 65_400; length < 65_600; length += 7) {
    const file = line('y'.repeat(100)) + line('x'.repeat(length)) + line('1') + line('2')
    assert.equal(await tail(file, 2), line('1') + line('2'))
    assert.equal(await tail(file, 4), file)
  }
  const endless = 'z'.repeat(5_000_000)
  assert.equal(await tail(endless, 1), endless)
})
