import assert from 'node:assert/strict'
import test from 'node:test'
import type { Files } from '../platform.ts'
import { Simulation } from '../simulated.ts'
import { epochMs } from './clock.ts'

const text = async (files: Files, path: string): Promise<string> =>
  Buffer.from(await files.read(path)).toString()

test('simulated files are read as written', () =>
  withFiles(async files => {
    await files.write('/a', 'one')
    await files.write('/a', new Uint8Array([116, 119, 111]))
    assert.equal(await text(files, '/a'), 'two')
    const file = await files.openAppend('/a')
    await file.append(Buffer.from('+1'))
    assert.equal(await text(files, '/a'), 'two+1')
    await files.truncate('/a', 2)
    assert.equal(await text(files, '/a'), 'tw')
    await files.truncate('/a', 4)
    assert.equal(await text(files, '/a'), 'tw\0\0')
  }))

test('simulated files copy their buffers', () =>
  withFiles(async files => {
    const given = Buffer.from('aaaa')
    const file = await files.openAppend('/b')
    const writing = [files.write('/a', given), file.append(given)]
    given.fill('b')
    await Promise.all(writing)
    const read = await files.read('/a')
    read.fill(0)
    assert.deepEqual([await text(files, '/a'), await text(files, '/b')], ['aaaa', 'aaaa'])
  }))

test('simulated appends and syncs run in call order', () =>
  withFiles(async files => {
    const file = await files.openAppend('/log')
    for (let index = 0; index < 20; index++) void file.append(Buffer.from(`${index},`))
    await file.sync()
    assert.equal(await text(files, '/log'), Array.from({ length: 20 }, (_, index) => `${index},`).join(''))
  }))

test('appending to a closed simulated file fails', () =>
  withFiles(async files => {
    const file = await files.openAppend('/log')
    void file.append(Buffer.from('last'))
    await file[Symbol.asyncDispose]()
    assert.equal(await text(files, '/log'), 'last')
    await assert.rejects(file.append(Buffer.from('x')), { code: 'EBADF' })
    await assert.rejects(file.sync(), { code: 'EBADF' })
  }))

test('an open simulated file survives rename and removal', () =>
  withFiles(async files => {
    const file = await files.openAppend('/a')
    await files.rename('/a', '/b')
    await file.append(Buffer.from('x'))
    assert.equal(await text(files, '/b'), 'x')
    await files.remove('/b')
    await file.append(Buffer.from('y'))
    assert.equal(await files.stat('/b'), undefined)
  }))

test('simulated folders are created with parents, listed in order, moved and removed', () =>
  withFiles(async files => {
    await files.makeFolder('/x/y/z', { mode: 0o700 })
    await files.makeFolder('/x/y/z')
    for (const name of ['b', '__proto__', 'a', 'constructor']) await files.write(`/x/y/${name}`, name)
    assert.deepEqual(await files.list('/x/y'), ['__proto__', 'a', 'b', 'constructor', 'z'])
    assert.equal(await text(files, '/x/y/__proto__'), '__proto__')
    await files.rename('/x/y', '/w')
    assert.deepEqual([await files.list('/x'), await text(files, '/w/a')], [[], 'a'])
    await files.remove('/w')
    await files.remove('/w')
    assert.deepEqual(await files.list('/'), ['x'])
  }))

test('stat of a simulated file has size, mode and time', () =>
  withFiles(async (files, simulation) => {
    await simulation.host('a').clock.sleep(1_000)
    await files.write('/a', '123', { mode: 0o600 })
    await files.write('/a', '1234')
    const status = await files.stat('/a')
    const expected = { sizeBytes: 4, isFolder: false, modifiedMs: 0, mode: 0o600 }
    assert.deepEqual({ ...status, modifiedMs: 0 }, expected)
    assert(Math.abs((status?.modifiedMs ?? 0) - epochMs - 1_000) < 10)
    assert.equal((await files.stat('/'))?.isFolder, true)
    assert.equal(await files.stat('/a/b'), undefined)
  }))

test('invalid operations on simulated files fail with POSIX codes', () =>
  withFiles(async files => {
    await files.makeFolder('/folder/inner')
    await files.makeFolder('/empty')
    await files.write('/file', 'x')
    const check = (done: Promise<unknown>, code: string): Promise<void> => assert.rejects(done, { code })
    await check(files.read('/none'), 'ENOENT')
    await check(files.read('/folder'), 'EISDIR')
    await check(files.write('/none/a', ''), 'ENOENT')
    await check(files.write('/folder', ''), 'EISDIR')
    await check(files.write('/file/a', ''), 'ENOTDIR')
    await check(files.openAppend('/none/a'), 'ENOENT')
    await check(files.openAppend('/folder'), 'EISDIR')
    await check(files.truncate('/none', 0), 'ENOENT')
    await check(files.truncate('/file', -1), 'EINVAL')
    await check(files.list('/none'), 'ENOENT')
    await check(files.list('/file'), 'ENOTDIR')
    await check(files.makeFolder('/file'), 'EEXIST')
    await check(files.rename('/none', '/a'), 'ENOENT')
    await check(files.rename('/folder', '/folder/inner/deeper'), 'EINVAL')
    await check(files.rename('/file', '/empty'), 'EISDIR')
    await check(files.rename('/empty', '/file'), 'ENOTDIR')
    await check(files.rename('/empty', '/folder'), 'ENOTEMPTY')
    await check(files.remove('/'), 'EBUSY')
    await check(files.read('relative'), 'EINVAL')
    await check(files.read('/nul\0'), 'EINVAL')
    await files.rename('/file', '/file')
    await files.rename('/folder', '/empty')
    assert.deepEqual(await files.list('/'), ['empty', 'file'])
  }))

async function withFiles(use: (files: Files, simulation: Simulation) => Promise<void>): Promise<void> {
  const simulation = new Simulation({ seed: 1 })
  await simulation.run(use(simulation.host('a').files, simulation))
}
