import assert from 'node:assert/strict'
import { mkdtempDisposable, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from './files.ts'

const files = nodeFiles()

function temporaryFolder() {
  return mkdtempDisposable(join(tmpdir(), 'k8ts-files-'))
}

const textOf = async (path: string) => Buffer.from(await files.read(path)).toString()

test('a file write is atomic, has the requested mode and leaves no temporary file', async () => {
  await using temporary = await temporaryFolder()
  const folder = temporary.path
  const path = join(folder, 'file')
  await files.write(path, 'first, and longer', { mode: 0o666 })
  assert.equal((await files.stat(path))?.mode, 0o666)
  await files.write(path, Buffer.from('second'), { mode: 0o600 })
  assert.equal(await textOf(path), 'second')
  assert.equal((await files.stat(path))?.mode, 0o600)
  assert.deepEqual(await files.list(folder), ['file'])
})

test('a failed file write keeps the old content and leaves no temporary file', async () => {
  await using temporary = await temporaryFolder()
  const folder = temporary.path
  const path = join(folder, 'folder')
  await files.makeFolder(join(path, 'child'))
  await assert.rejects(files.write(path, 'over a folder'), { code: /EISDIR|ENOTEMPTY|EEXIST/ })
  assert.deepEqual(await files.list(folder), ['folder'])
  await assert.rejects(files.write(join(folder, 'none', 'file'), 'x'), { code: 'ENOENT' })
})

test('of concurrent writes to one path one is kept completely', async () => {
  await using temporary = await temporaryFolder()
  const path = join(temporary.path, 'file')
  const contents = ['a', 'b', 'c', 'd'].map(letter => letter.repeat(100_000))
  await Promise.all(contents.map(content => files.write(path, content)))
  assert.ok(contents.includes(await textOf(path)))
})

test('temporary files of a crash are not listed', async () => {
  await using temporary = await temporaryFolder()
  const folder = temporary.path
  await writeFile(join(folder, '.file.1234.k8ts-partial'), 'half')
  await files.write(join(folder, 'b'), '')
  await files.write(join(folder, 'a'), '')
  assert.deepEqual(await files.list(folder), ['a', 'b'])
})

test('appends keep the order of the calls, also without awaiting', async () => {
  await using temporary = await temporaryFolder()
  const path = join(temporary.path, 'log')
  await writeFile(path, 'old\n')
  const lines = Array.from({ length: 200 }, (_, index) => `${index} ${'x'.repeat(index * 10)}\n`)
  {
    await using file = await files.openAppend(path, { mode: 0o600 })
    for (const line of lines) void file.append(Buffer.from(line))
    await file.sync()
    assert.equal(await readFile(path, 'utf8'), `old\n${lines.join('')}`)
    void file.append(Buffer.from('last\n'))
  }
  assert.equal(await readFile(path, 'utf8'), `old\n${lines.join('')}last\n`)
})

test('after a failed append later appends fail', async () => {
  await using file = await files.openAppend('/dev/full')
  await assert.rejects(file.append(Buffer.from('x')), { code: 'ENOSPC' })
  await assert.rejects(file.sync(), { code: 'ENOSPC' })
})

test('files are truncated, renamed and removed; removing a missing file succeeds', async () => {
  await using temporary = await temporaryFolder()
  const folder = temporary.path
  const path = join(folder, 'file')
  await files.write(path, '0123456789')
  await files.truncate(path, 4)
  assert.equal(await textOf(path), '0123')
  await files.makeFolder(join(folder, 'other'))
  await files.rename(path, join(folder, 'other', 'moved'))
  assert.equal(await textOf(join(folder, 'other', 'moved')), '0123')
  await files.remove(join(folder, 'other'))
  await files.remove(join(folder, 'other'))
  assert.deepEqual(await files.list(folder), [])
})

test('makeFolder creates parents and is idempotent', async () => {
  await using temporary = await temporaryFolder()
  const folder = temporary.path
  const deep = join(folder, 'a', 'b', 'c')
  await files.makeFolder(deep, { mode: 0o711 })
  await files.makeFolder(deep, { mode: 0o700 })
  const status = await files.stat(deep)
  assert.equal(status?.isFolder, true)
  assert.equal(status.mode, 0o711)
})

test('stat of a missing file is undefined, other operations fail with ENOENT', async () => {
  await using temporary = await temporaryFolder()
  const folder = temporary.path
  const path = join(folder, 'none')
  assert.equal(await files.stat(path), undefined)
  await files.write(join(folder, 'file'), 'x')
  assert.equal(await files.stat(join(folder, 'file', 'below')), undefined)
  await assert.rejects(files.read(path), { code: 'ENOENT' })
  await assert.rejects(files.list(path), { code: 'ENOENT' })
  await assert.rejects(files.truncate(path, 0), { code: 'ENOENT' })
  await assert.rejects(files.rename(path, join(folder, 'other')), { code: 'ENOENT' })
})

test('stat returns size and modification time', async () => {
  await using temporary = await temporaryFolder()
  const path = join(temporary.path, 'file')
  await files.write(path, 'four')
  const status = await files.stat(path)
  assert.equal(status?.sizeBytes, 4)
  assert.equal(status.modifiedMs, (await stat(path)).mtimeMs)
})
