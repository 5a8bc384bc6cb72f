import assert from 'node:assert/strict'
import { once } from 'node:events'
import test from 'node:test'
import type { Files, FileStep } from '../platform.ts'
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

test('a simulated file is created, or emptied if it exists', () =>
  withFiles(async files => {
    for (const content of ['first, and longer', 'second']) {
      await using file = await files.create('/a')
      await file.append(Buffer.from(content))
    }
    assert.equal(await text(files, '/a'), 'second')
    assert.equal(await files.readLink('/a'), undefined)
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
    const expected = {
      sizeBytes: 4,
      isFolder: false,
      isFile: true,
      modifiedMs: 0,
      mode: 0o600,
      uid: 0,
      gid: 0,
    }
    assert.deepEqual({ ...status, modifiedMs: 0 }, expected)
    assert(Math.abs((status?.modifiedMs ?? 0) - epochMs - 1_000) < 10)
    assert.equal((await files.stat('/'))?.isFolder, true)
    assert.equal(await files.stat('/a/b'), undefined)
  }))

test('the real path of a simulated file is normalized', () =>
  withFiles(async files => {
    await files.write('/a', '')
    assert.equal(await files.realPath('/./a'), '/a')
    await assert.rejects(files.realPath('/none'), { code: 'ENOENT' })
  }))

test('a simulated file writer executes the steps of all calls in order', () =>
  withFiles(async files => {
    await using writer = await files.openWriter()
    const first = writer.perform([writeStep('/a', 0, 'one,'), writeStep('/a', 6, 'end')])
    const second = writer.perform([writeStep('/a', 0, 'ONE'), { type: 'sync', path: '/a' }])
    await Promise.all([first, second])
    assert.equal(await text(files, '/a'), 'ONE,\0\0end')
    assert.equal((await files.stat('/a'))?.mode, 0o600)
  }))

test('a failed step of a simulated file writer ends its call, but not the next one', () =>
  withFiles(async (files, simulation) => {
    await using writer = await files.openWriter()
    await files.makeFolder('/folder')
    const steps = [writeStep('/a', 0, 'a'), writeStep('/none/a', 0, 'b'), writeStep('/a', 0, 'c')]
    await assert.rejects(writer.perform(steps), { code: 'ENOENT' })
    await assert.rejects(writer.perform([writeStep('/folder', 0, 'x')]), { code: 'EISDIR' })
    assert.equal(await text(files, '/a'), 'a')
    simulation.host('a').disk.failNext('write-at', 'EIO')
    await assert.rejects(writer.perform([writeStep('/a', 0, 'd'.repeat(1_000))]), { code: 'EIO' })
    assert.match(await text(files, '/a'), /^(a|d{1,1000})$/)
    await writer.perform([writeStep('/a', 0, 'e')])
    assert.match(await text(files, '/a'), /^ed*$/)
  }))

test('a simulated file writer takes the buffers that it is given', () =>
  withFiles(async files => {
    await using writer = await files.openWriter()
    const own = new Uint8Array([120])
    const part = new Uint8Array(2).fill(121).subarray(1)
    const steps = [own, own, part].map((bytes, positionBytes) => {
      return { type: 'write', path: '/a', positionBytes, bytes } as const
    })
    const done = writer.perform(steps)
    part.fill(122)
    await done
    assert.deepEqual([own.length, await text(files, '/a')], [0, 'xxy'])
  }))

test('a simulated file writer keeps a renamed file until it is closed', () =>
  withFiles(async files => {
    await using writer = await files.openWriter()
    await writer.perform([writeStep('/a', 0, '1')])
    await files.rename('/a', '/b')
    await writer.perform([writeStep('/a', 1, '2'), { type: 'close', path: '/a' }, writeStep('/a', 0, '3')])
    assert.deepEqual([await text(files, '/a'), await text(files, '/b')], ['3', '12'])
  }))

test('a simulated file writer finishes its calls before it is disposed', () =>
  withFiles(async files => {
    const writer = await files.openWriter()
    void writer.perform([writeStep('/a', 0, '1'), { type: 'sync', path: '/a' }])
    void writer.perform([writeStep('/a', 1, '2')])
    await writer[Symbol.asyncDispose]()
    assert.equal(await text(files, '/a'), '12')
    await assert.rejects(writer.perform([]), { code: 'EBADF' })
  }))

test('an opened simulated file is read at any position, also after its removal', () =>
  withFiles(async files => {
    await files.write('/a', '0123456789')
    const file = await files.openRead('/a')
    const read = (positionBytes: number, lengthBytes: number): string => {
      return Buffer.from(file.read(positionBytes, lengthBytes)).toString()
    }
    assert.deepEqual(
      [read(2, 3), read(8, 5), read(10, 1), read(20, 5), read(0, 0)],
      ['234', '89', '', '', ''],
    )
    await files.truncate('/a', 4)
    assert.equal(read(2, 10), '23')
    file.read(0, 4).fill(0)
    await files.remove('/a')
    assert.equal(read(0, 10), '0123')
    await file[Symbol.asyncDispose]()
    assert.throws(() => read(0, 1), { code: 'EBADF' })
  }))

test('a link is a second name of a simulated file', () =>
  withFiles(async (files, simulation) => {
    await files.makeFolder('/folder')
    await files.write('/a', 'one')
    await files.link('/a', '/folder/b')
    await (await files.openAppend('/a')).append(Buffer.from('+'))
    assert.equal(await text(files, '/folder/b'), 'one+')
    assert.equal(simulation.host('a').disk.usedBytes, 4)
    await files.write('/a', 'two')
    await files.remove('/a')
    assert.equal(await text(files, '/folder/b'), 'one+')
  }))

test('a lock of a simulated file is exclusive on its host until it is released or its process ends', () =>
  withFiles(async (files, simulation) => {
    const host = simulation.host('a')
    simulation.program('locker', async ({ platform, stdout, signal }) => {
      const lock = await platform.files.lock('/lock')
      stdout.write(lock === undefined ? 'locked by another' : 'locked')
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))))
    })
    const startLocker = async () => {
      const process = await host.processes.start(['locker'])
      const [said] = (await once(process.stdout, 'data')) as [Buffer]
      return { process, said: said.toString() }
    }
    const own = await files.lock('/lock')
    assert.notEqual(own, undefined)
    assert.equal(await files.lock('/lock'), undefined)
    assert.equal((await startLocker()).said, 'locked by another')
    await own?.[Symbol.asyncDispose]()
    const { process, said } = await startLocker()
    assert.equal(said, 'locked')
    await own?.[Symbol.asyncDispose]()
    assert.equal(await files.lock('/lock'), undefined)
    process.kill('SIGKILL')
    assert.notEqual(await files.lock('/lock'), undefined)
    assert.notEqual(await simulation.host('b').files.lock('/lock'), undefined)
  }))

test('a crash of the simulated host releases its locks', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('a')
  assert.notEqual(await simulation.run(host.files.lock('/lock')), undefined)
  host.crash()
  await simulation.run(simulation.clock.sleep(1))
  host.restart()
  assert.notEqual(await simulation.run(host.files.lock('/lock')), undefined)
})

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
    await check(files.openRead('/none'), 'ENOENT')
    await check(files.openRead('/folder'), 'EISDIR')
    await check(files.link('/none', '/a'), 'ENOENT')
    await check(files.link('/folder', '/a'), 'EPERM')
    await check(files.link('/file', '/folder'), 'EEXIST')
    await check(files.link('/file', '/none/a'), 'ENOENT')
    await check(files.lock('/none/lock'), 'ENOENT')
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

function writeStep(path: string, positionBytes: number, content: string): FileStep {
  return { type: 'write', path, positionBytes, bytes: new Uint8Array(Buffer.from(content)) }
}
