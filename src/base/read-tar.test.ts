import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTar } from './read-tar.ts'
import { tar, tarEnd, tarHeader, tarPadding } from './tar.ts'

async function* pieces(bytes: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

/** Entries as `type path>target=content`. */
async function read(bytes: Uint8Array, pieceBytes = 100): Promise<readonly string[]> {
  const found: string[] = []
  for await (const { type, path, target, content } of readTar(pieces(bytes, pieceBytes))) {
    let text = ''
    for await (const piece of content) text += Buffer.from(piece).toString()
    found.push(`${type} ${path}${target === '' ? '' : `>${target}`}${text === '' ? '' : `=${text}`}`)
  }
  return found
}

const long = `${'folder/'.repeat(40)}file`

test('archives are read back as they were written, whatever the size of the pieces', async () => {
  const archive = tar([
    { type: 'folder', path: 'a' },
    { type: 'file', path: 'a/b', content: Buffer.from('x'.repeat(700)) },
    { type: 'file', path: 'empty', content: new Uint8Array() },
    { type: 'symlink', path: 's', target: 'a/b' },
    { type: 'link', path: 'l', target: 'a/b' },
    { type: 'file', path: long, content: Buffer.from('long') },
    { type: 'symlink', path: 'm', target: long },
  ])
  const expected = [
    'folder a/',
    `file a/b=${'x'.repeat(700)}`,
    'file empty',
    'symlink s>a/b',
    'link l>a/b',
    `file ${long}=long`,
    `symlink m>${long}`,
  ]
  for (const pieceBytes of [1, 511, 512, 10_000]) assert.deepEqual(await read(archive, pieceBytes), expected)
})

test('content that is not read is skipped', async () => {
  const archive = tar([
    { type: 'file', path: 'a', content: Buffer.from('a'.repeat(2_000)) },
    { type: 'file', path: 'b', content: Buffer.from('b') },
  ])
  const paths: string[] = []
  for await (const { path } of readTar(pieces(archive, 64))) paths.push(path)
  assert.deepEqual(paths, ['a', 'b'])
})

/** A header whose checksum is right after a change. */
function changed(header: Uint8Array, change: (block: Buffer) => void): Buffer {
  const block = Buffer.from(header)
  change(block)
  block.write(' '.repeat(8), 148)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

function member(typeFlag: string, content: string): Buffer {
  const header = tarHeader({ type: 'file', path: 'x', sizeBytes: Buffer.byteLength(content) })
  const block = changed(header, each => each.write(typeFlag, 156))
  return Buffer.concat([block, Buffer.from(content), tarPadding(Buffer.byteLength(content))])
}

const file = tar([{ type: 'file', path: 'f', content: Buffer.from('12345') }])

test('long names of GNU, binary sizes and prefixes of ustar are read', async () => {
  const named = Buffer.concat([member('L', `${long}\0`), member('K', 'unused\0'), file])
  assert.deepEqual(await read(named), [`file ${long}>unused=12345`])
  const binary = changed(file.subarray(0, 512), block => {
    block.fill(0, 124, 136)
    block[124] = 0x80
    block[135] = 5
  })
  assert.deepEqual(await read(Buffer.concat([binary, file.subarray(512)])), ['file f=12345'])
  const prefixed = changed(file.subarray(0, 512), block => block.write('some/folder', 345))
  assert.deepEqual(await read(Buffer.concat([prefixed, file.subarray(512)])), ['file some/folder/f=12345'])
  assert.deepEqual(await read(Buffer.concat([member('g', '11 path=zz\n'), file])), ['file f=12345'])
  assert.deepEqual(await read(Buffer.concat([member('3', ''), tarEnd])), ['other x'])
})

test('an archive that is cut or corrupt is refused', async () => {
  const refuse = (bytes: Uint8Array, expected: RegExp) => assert.rejects(read(bytes), expected)
  await refuse(file.subarray(0, 300), /^TarError: unexpected EOF$/)
  await refuse(file.subarray(0, 514), /unexpected EOF/)
  await refuse(file.subarray(0, 600), /unexpected EOF/)
  await refuse(Buffer.from('not a tar archive'.repeat(100)), /invalid tar header/)
  await refuse(Buffer.concat([member('x', '99 path=a\n'), file]), /invalid tar header/)
  await refuse(Buffer.concat([member('x', '0 =\n'), file]), /invalid tar header/)
  const huge = changed(member('L', 'a').subarray(0, 512), block => block.write('77777777777\0', 124))
  await refuse(huge, /header field too long/)
  const overflow = changed(file.subarray(0, 512), block => block.fill(0xff, 124, 136))
  await refuse(overflow, /invalid tar header/)
  assert.deepEqual(await read(new Uint8Array()), [])
})
