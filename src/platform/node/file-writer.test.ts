import assert from 'node:assert/strict'
import { mkdir, mkdtempDisposable, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { FileStep } from '../platform.ts'
import { NodeFileWriter } from './file-writer.ts'

function temporaryFolder() {
  return mkdtempDisposable(join(tmpdir(), 'k8ts-file-writer-'))
}

function writeStep(path: string, positionBytes: number, content: string): FileStep {
  return { type: 'write', path, positionBytes, bytes: new Uint8Array(Buffer.from(content)) }
}

test('a file writer executes the steps of all calls in order, also without awaiting', async () => {
  await using temporary = await temporaryFolder()
  await using writer = new NodeFileWriter()
  const path = join(temporary.path, 'log')
  const calls = Array.from({ length: 100 }, (_, index) => {
    return writer.perform([writeStep(path, index, `${index % 10}~`), { type: 'sync', path }])
  })
  await Promise.all(calls)
  assert.equal(await readFile(path, 'utf8'), `${'0123456789'.repeat(10)}~`)
})

test('a file writer creates files with mode 0600, fills gaps with zeros and keeps what it does not write', async () => {
  await using temporary = await temporaryFolder()
  await using writer = new NodeFileWriter()
  const [created, existing] = [join(temporary.path, 'created'), join(temporary.path, 'existing')]
  await writeFile(existing, '0123456789', { mode: 0o640 })
  const sync: FileStep[] = [created, existing].map(path => ({ type: 'sync', path }))
  await writer.perform([writeStep(created, 3, 'end'), writeStep(existing, 2, 'ab'), ...sync])
  assert.equal(await readFile(created, 'utf8'), '\0\0\0end')
  assert.equal(await readFile(existing, 'utf8'), '01ab456789')
  const modes = await Promise.all([stat(created), stat(existing)])
  assert.deepEqual(
    modes.map(({ mode }) => mode & 0o777),
    [0o600, 0o640],
  )
})

test('a large write is written completely', async () => {
  await using temporary = await temporaryFolder()
  await using writer = new NodeFileWriter()
  const path = join(temporary.path, 'large')
  const content = 'abcdefghijklm'.repeat(1_000_000)
  await writer.perform([writeStep(path, 0, content)])
  assert.ok((await readFile(path, 'utf8')) === content)
})

test('a failed step ends its call with the code of the error, and the next call is executed', async () => {
  await using temporary = await temporaryFolder()
  await using writer = new NodeFileWriter()
  const path = join(temporary.path, 'file')
  const failures = [
    { step: writeStep(join(temporary.path, 'none', 'file'), 0, 'x'), code: 'ENOENT' },
    { step: writeStep(temporary.path, 0, 'x'), code: 'EISDIR' },
    { step: writeStep(join(path, 'file'), 0, 'x'), code: 'ENOTDIR' },
    { step: writeStep('/dev/full', 0, 'x'), code: 'ENOSPC' },
    { step: { type: 'sync', path: '/dev/full' }, code: 'EINVAL' },
  ] as const
  for (const [index, { step, code }] of failures.entries()) {
    const steps = [writeStep(path, index, `${index}`), step, writeStep(path, 0, 'not executed')]
    await assert.rejects(writer.perform(steps), { code, message: new RegExp(code) })
  }
  await writer.perform([writeStep(path, failures.length, '.'), { type: 'sync', path }])
  assert.equal(await readFile(path, 'utf8'), '01234.')
})

test('the folder of a file may be created after a write to it has failed', async () => {
  await using temporary = await temporaryFolder()
  await using writer = new NodeFileWriter()
  const path = join(temporary.path, 'folder', 'file')
  const steps = (): FileStep[] => [writeStep(path, 0, 'x'), { type: 'sync', path }]
  await assert.rejects(writer.perform(steps()), { code: 'ENOENT' })
  await mkdir(join(temporary.path, 'folder'))
  await writer.perform(steps())
  assert.equal(await readFile(path, 'utf8'), 'x')
})

test('a file writer keeps a renamed file until it is closed', async () => {
  await using temporary = await temporaryFolder()
  await using writer = new NodeFileWriter()
  const [path, renamed] = [join(temporary.path, 'file'), join(temporary.path, 'renamed')]
  await writer.perform([writeStep(path, 0, '1')])
  await rename(path, renamed)
  await writer.perform([writeStep(path, 1, '2'), { type: 'close', path }, writeStep(path, 0, '3')])
  assert.deepEqual([await readFile(path, 'utf8'), await readFile(renamed, 'utf8')], ['3', '12'])
})

test('steps may share a buffer, and a part of a larger buffer is copied', async () => {
  await using temporary = await temporaryFolder()
  await using writer = new NodeFileWriter()
  const path = join(temporary.path, 'file')
  const shared = new Uint8Array([120])
  const larger = new Uint8Array([121, 122])
  const steps = [shared, shared, larger.subarray(1)].map((bytes, positionBytes) => {
    return { type: 'write', path, positionBytes, bytes } as const
  })
  await writer.perform(steps)
  assert.equal(await readFile(path, 'utf8'), 'xxz')
  assert.equal(larger.length, 2)
})

test('disposing a file writer waits for all its calls, and further calls fail', async () => {
  await using temporary = await temporaryFolder()
  const writer = new NodeFileWriter()
  const path = join(temporary.path, 'file')
  const calls = Array.from({ length: 20 }, (_, index) => {
    return writer.perform([writeStep(path, index, 'x'), { type: 'sync', path }])
  })
  const failing = assert.rejects(writer.perform([writeStep(join(path, 'x'), 0, 'x')]), { code: 'ENOTDIR' })
  await writer[Symbol.asyncDispose]()
  assert.equal(await readFile(path, 'utf8'), 'x'.repeat(20))
  await Promise.all([...calls, failing])
  await assert.rejects(writer.perform([writeStep(path, 0, 'y')]), /ended/)
})
