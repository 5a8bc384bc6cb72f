import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
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

test('the real path of a file has no symbolic links', async () => {
  await using temporary = await temporaryFolder()
  const folder = await files.realPath(temporary.path)
  await files.write(join(folder, 'file'), '')
  await symlink('file', join(folder, 'link'))
  assert.equal(await files.realPath(join(folder, '.', 'link')), join(folder, 'file'))
  await assert.rejects(files.realPath(join(folder, 'none')), { code: 'ENOENT' })
})

test('a file is created or emptied to append to, and the target of a symbolic link is read', async () => {
  await using temporary = await temporaryFolder()
  const path = join(temporary.path, 'file')
  for (const content of ['first, and longer', 'second']) {
    await using file = await files.create(path)
    await file.append(Buffer.from(content))
    await file.append(Buffer.from('!'))
  }
  assert.equal(await textOf(path), 'second!')
  await symlink('file', join(temporary.path, 'link'))
  assert.equal(await files.readLink(join(temporary.path, 'link')), 'file')
  assert.equal(await files.readLink(path), undefined)
  await assert.rejects(files.readLink(join(temporary.path, 'none')), { code: 'ENOENT' })
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

test('makeFolder fails below a file, and where nothing can be created', async () => {
  await using temporary = await temporaryFolder()
  const file = join(temporary.path, 'file')
  await files.write(file, 'x')
  await assert.rejects(files.makeFolder(file), { code: 'EEXIST' })
  await assert.rejects(files.makeFolder(join(file, 'a', 'b')), { code: 'ENOTDIR' })
  if (process.platform === 'linux') await assert.rejects(files.makeFolder('/proc/a/b/c'), { code: 'ENOENT' })
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

test('an opened file is read at any position, also after its removal', async () => {
  await using temporary = await temporaryFolder()
  const path = join(temporary.path, 'file')
  await files.write(path, '0123456789')
  await using file = await files.openRead(path)
  const read = (positionBytes: number, lengthBytes: number): string => {
    return Buffer.from(file.read(positionBytes, lengthBytes)).toString()
  }
  assert.deepEqual([read(2, 3), read(8, 5), read(10, 1), read(20, 5), read(0, 0)], ['234', '89', '', '', ''])
  await files.truncate(path, 4)
  assert.equal(read(2, 10), '23')
  await files.remove(path)
  assert.equal(read(0, 10), '0123')
})

test('opening a missing file for reads fails with ENOENT', async () => {
  await using temporary = await temporaryFolder()
  await assert.rejects(files.openRead(join(temporary.path, 'none')), { code: 'ENOENT' })
})

test('a link is a second name of a file', async () => {
  await using temporary = await temporaryFolder()
  const [path, linked] = [join(temporary.path, 'file'), join(temporary.path, 'folder', 'linked')]
  await files.makeFolder(join(temporary.path, 'folder'))
  await files.write(path, 'one')
  await files.link(path, linked)
  {
    await using file = await files.openAppend(path)
    await file.append(Buffer.from('+'))
  }
  assert.equal(await textOf(linked), 'one+')
  await files.write(path, 'two')
  assert.equal(await textOf(linked), 'one+')
  await files.remove(path)
  assert.equal(await textOf(linked), 'one+')
})

test('a link over an existing file, to a missing one or to a folder fails', async () => {
  await using temporary = await temporaryFolder()
  const folder = temporary.path
  const path = join(folder, 'file')
  await files.write(path, 'x')
  await files.write(join(folder, 'taken'), 'y')
  await assert.rejects(files.link(path, join(folder, 'taken')), { code: 'EEXIST' })
  await assert.rejects(files.link(join(folder, 'none'), join(folder, 'a')), { code: 'ENOENT' })
  await assert.rejects(files.link(path, join(folder, 'none', 'a')), { code: 'ENOENT' })
  await assert.rejects(files.link(folder, join(folder, 'a')), { code: 'EPERM' })
  assert.equal(await textOf(join(folder, 'taken')), 'y')
})

test('a lock is exclusive in its process until it is released', async () => {
  await using temporary = await temporaryFolder()
  const path = join(temporary.path, 'lock')
  const first = await files.lock(path)
  assert.notEqual(first, undefined)
  assert.notEqual(await files.stat(path), undefined)
  assert.equal(await files.lock(path), undefined)
  await using other = await files.lock(join(temporary.path, 'other'))
  assert.notEqual(other, undefined)
  await first?.[Symbol.asyncDispose]()
  await using second = await files.lock(path)
  assert.notEqual(second, undefined)
  assert.equal(await files.lock(path), undefined)
})

test('a lock is exclusive among processes and is released when its process is killed', async () => {
  await using temporary = await temporaryFolder()
  const path = join(temporary.path, 'lock')
  const own = await files.lock(path)
  assert.equal(await text(startLocker(path).stdout), 'locked by another')
  await own?.[Symbol.asyncDispose]()
  using locker = startLocker(path)
  assert.equal(String((await once(locker.stdout, 'data'))[0]), 'locked')
  assert.equal(await files.lock(path), undefined)
  locker.kill('SIGKILL')
  await once(locker, 'exit')
  await using again = await files.lock(path)
  assert.notEqual(again, undefined)
})

test('a lock in a missing folder fails with ENOENT', async () => {
  await using temporary = await temporaryFolder()
  await assert.rejects(files.lock(join(temporary.path, 'none', 'lock')), { code: 'ENOENT' })
})

/** A process that tries to lock the file and, if it has the lock, does not end. It keeps no reference to the lock. */
function startLocker(path: string) {
  const program = `
    const { nodeFiles } = await import(${JSON.stringify(new URL('files.ts', import.meta.url).href)})
    const isLocked = (await nodeFiles().lock(${JSON.stringify(path)})) !== undefined
    await new Promise(setImmediate)
    gc()
    process.stdout.write(isLocked ? 'locked' : 'locked by another')
    if (isLocked) setInterval(() => {}, 1_000)`
  const parameters = ['--expose-gc', '--input-type=module', '--eval', program]
  return spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'inherit'] })
}
