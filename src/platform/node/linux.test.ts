import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Linux } from '../linux.ts'
import { nodeLinux } from './linux.ts'
import { parseMountInfo } from './linux/mounts.ts'

const needsRoot = process.getuid?.() === 0 ? false : 'only root may mount'

interface Fixture {
  readonly linux: Linux
  readonly folder: string
}

async function start(t: TestContext): Promise<Fixture> {
  const linux = await nodeLinux()
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-linux-'))
  t.after(async () => {
    const points = await linux.mounts.list()
    const ours = points.filter(each => each.path.startsWith(`${folder}/`)).reverse()
    for (const { path } of ours) await linux.mounts.unmount(path)
    await rm(folder, { recursive: true })
  })
  return { linux, folder }
}

test("machine facts agree with the system's programs", async () => {
  const { machine } = await nodeLinux()
  assert.equal(machine.kernelVersion, execFileSync('uname', ['-r'], { encoding: 'utf8' }).trim())
  assert.equal(machine.processors, Number(execFileSync('nproc', ['--all'], { encoding: 'utf8' })))
  assert.equal(machine.hostname, execFileSync('uname', ['-n'], { encoding: 'utf8' }).trim())
  const [, kibibytes] = /MemTotal:\s+(\d+)/.exec(await readFile('/proc/meminfo', 'utf8')) ?? []
  assert.equal(machine.memoryBytes, Number(kibibytes) * 1024)
  assert.match(machine.bootId, /^[0-9a-f-]{36}$/)
  assert.notEqual(machine.osImage, '')
})

test('run returns stdout; its error has the output, exit code or signal', async () => {
  const linux = await nodeLinux()
  assert.equal(await linux.run(['cat'], { stdin: 'hello' }), 'hello')
  await assert.rejects(linux.run(['sh', '-c', 'echo no such luck >&2; exit 3']), {
    message: /no such luck/,
    exitCode: 3,
  })
  await assert.rejects(linux.run(['k8ts-no-such-program']), { code: 'ENOENT' })
  await assert.rejects(linux.run(['sleep', '60'], { timeoutMs: 20 }), /timed out and was killed/)
  await assert.rejects(linux.run(['sh', '-c', 'echo partial; kill -9 $$']), {
    message: /killed by signal SIGKILL: partial$/,
    killedBy: 'SIGKILL',
  })
  const stopping = new AbortController()
  const sleeping = linux.run(['sleep', '60'], { signal: stopping.signal })
  stopping.abort(new Error('enough'))
  await assert.rejects(sleeping, /enough/)
  // A command that does not read its stdin.
  await linux.run(['true'], { stdin: 'x'.repeat(1_000_000) })
})

test('mountinfo is parsed with escaped paths', () => {
  const text =
    '36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw\n' +
    '37 36 0:5 / /with\\040space\\134 rw shared:2 master:1 - tmpfs some\\011thing rw,size=4k\n\nnonsense\n'
  assert.deepEqual(parseMountInfo(text), [
    { path: '/mnt2', type: 'ext3', source: '/dev/root' },
    { path: '/with space\\', type: 'tmpfs', source: 'some\tthing' },
  ])
})

test('files are written with the requested mode and read by range', async t => {
  const { linux, folder } = await start(t)
  const { files } = linux
  const path = join(folder, 'file')
  await files.writeUnsynced(path, 'hello world', 0o666)
  assert.equal((await files.lstat(path))?.mode, 0o666)
  await files.writeUnsynced(path, 'hello you', 0o604)
  assert.equal((await files.lstat(path))?.mode, 0o604)
  assert.equal(Buffer.from(await files.readRange(path, 6, 100)).toString(), 'you')
  assert.equal((await files.readRange(path, 100, 100)).length, 0)
  await files.makeFolderUnsynced(join(folder, 'a/b'), 0o777)
  assert.equal((await files.lstat(join(folder, 'a/b')))?.mode, 0o777)
  assert.equal(await files.lstat(join(folder, 'none')), undefined)
  assert.equal(await files.lstat(join(path, 'none')), undefined)
  await files.symlink('nowhere', join(folder, 'link'))
  assert.equal((await files.lstat(join(folder, 'link')))?.type, 'link')
  assert.equal(await files.stat(join(folder, 'link')), undefined)
  assert.equal(await files.readLink(join(folder, 'link')), 'nowhere')
  await files.symlink('file', join(folder, 'to-file'))
  assert.equal((await files.stat(join(folder, 'to-file')))?.type, 'file')
  assert.equal(await files.realPath(join(folder, 'to-file')), await files.realPath(path))
  await assert.rejects(files.chmod(join(folder, 'to-file'), 0o777), { code: 'ELOOP' })
  assert.equal((await files.lstat(path))?.mode, 0o604)
  assert.ok((await files.space(folder)).totalBytes > 0)
})

test('disk usage counts each inode once', async t => {
  const { linux, folder } = await start(t)
  await mkdir(join(folder, 'volume/deep'), { recursive: true })
  await writeFile(join(folder, 'volume/deep/file'), Buffer.alloc(1024 * 1024, 1))
  await linux.run(['ln', join(folder, 'volume/deep/file'), join(folder, 'volume/other')])
  await symlink('/usr', join(folder, 'volume/link'))
  const { bytes, inodes } = await linux.files.usage(join(folder, 'volume'))
  const [blocks] = (await linux.run(['du', '-sB1', join(folder, 'volume')])).split('\t')
  assert.equal(bytes, Number(blocks))
  assert.equal(inodes, 4)
})

test('a folder watch yields changed names and ends when aborted', async t => {
  const { linux, folder } = await start(t)
  const stopping = new AbortController()
  const seen: (string | undefined)[] = []
  const first = Promise.withResolvers<void>()
  const watching = (async () => {
    for await (const name of linux.files.watch(folder, stopping.signal)) {
      seen.push(name)
      first.resolve()
    }
  })()
  await writeFile(join(folder, 'new'), 'x')
  await first.promise
  stopping.abort()
  await watching
  assert.ok(seen.includes('new'))
  const missing = linux.files.watch(join(folder, 'none'), new AbortController().signal)
  await assert.rejects(missing[Symbol.asyncIterator]().next(), { code: 'ENOENT' })
})

test('an unread path watch keeps a bounded state', async t => {
  const { linux, folder } = await start(t)
  const stopping = new AbortController()
  const watching = linux.files.watch(folder, stopping.signal)[Symbol.asyncIterator]()
  const first = watching.next()
  for (let index = 0; index < 1_000; index += 1) await writeFile(join(folder, `file-${index}`), '')
  const seen = new Set([(await first).value])
  for (let more = true; more;) {
    const { value } = await watching.next()
    seen.add(value)
    more = value !== undefined
  }
  assert.ok(seen.size < 300)
  stopping.abort()
  assert.ok((await watching.next()).done)
})

const openCases: readonly (readonly [path: string, expected: string])[] = [
  ['', 'folder'],
  ['inside/file', 'inside'],
  ['./inside/../inside//file', 'inside'],
  ['to-inside/file', 'inside'],
  ['inside/up/inside/file', 'inside'],
  ['inside/again', 'inside'],
  ['to-outside', 'ELOOP'],
  ['to-outside/file', 'ELOOP'],
  ['out', 'ELOOP'],
  ['out/file', 'ELOOP'],
  ['inside/../../outside/file', 'ELOOP'],
  ['circle', 'ELOOP'],
  ['none', 'ENOENT'],
  ['inside/file/more', 'ENOTDIR'],
  ['x/'.repeat(3_000), 'ENAMETOOLONG'],
]

test('openBeneath follows links inside the folder and rejects others', async t => {
  const { linux, folder } = await start(t)
  const root = join(folder, 'root')
  await mkdir(join(root, 'inside'), { recursive: true })
  await mkdir(join(folder, 'outside'))
  await writeFile(join(folder, 'outside/file'), 'outside')
  await writeFile(join(root, 'inside/file'), 'inside')
  await symlink('inside', join(root, 'to-inside'))
  await symlink('..', join(root, 'inside/up'))
  await symlink('../to-inside/./file', join(root, 'inside/again'))
  await symlink('../outside', join(root, 'out'))
  await symlink(join(folder, 'outside'), join(root, 'to-outside'))
  await symlink('circle', join(root, 'circle'))
  for (const [path, expected] of openCases) {
    let found: string
    try {
      await using held = await linux.files.openBeneath(root, path)
      found = held.isFolder ? 'folder' : await readFile(held.path, 'utf8')
    } catch (error) {
      found = (error as NodeJS.ErrnoException).code ?? ''
    }
    assert.equal(found, expected, path)
  }
})

test('makeFoldersBeneath rejects paths outside of the folder', async t => {
  const { linux, folder } = await start(t)
  const root = join(folder, 'root')
  await mkdir(root)
  await mkdir(join(folder, 'outside'))
  await symlink('../outside', join(root, 'out'))
  await linux.files.makeFoldersBeneath(root, 'a/b/c', 0o777)
  assert.equal((await linux.files.lstat(join(root, 'a/b')))?.mode, 0o777)
  await linux.files.makeFoldersBeneath(root, 'a/b/c', 0o700)
  assert.equal((await linux.files.lstat(join(root, 'a/b/c')))?.mode, 0o777)
  await assert.rejects(linux.files.makeFoldersBeneath(root, 'out/x', 0o777), { code: 'ELOOP' })
  await assert.rejects(linux.files.makeFoldersBeneath(root, '../x', 0o777), { code: 'ELOOP' })
  assert.deepEqual(await readdir(join(folder, 'outside')), [])
  await writeFile(join(root, 'file'), '')
  await assert.rejects(linux.files.makeFoldersBeneath(root, 'file', 0o777), { code: 'ENOTDIR' })
})

test('walking a tree does not follow links', async t => {
  const { linux, folder } = await start(t)
  await mkdir(join(folder, 'tree/a/b'), { recursive: true })
  await writeFile(join(folder, 'tree/a/b/file'), '')
  await symlink('/etc', join(folder, 'tree/link'))
  const seen: string[] = []
  await linux.files.visitBeneath(join(folder, 'tree'), async (path, { type }) => {
    seen.push(`${path.split('/').at(-1)} ${type}`)
    if (type !== 'link') await linux.files.chmod(path, type === 'folder' ? 0o2770 : 0o660)
    await linux.files.chown(path, -1, process.getgid?.() ?? 0)
  })
  assert.deepEqual(seen.sort(), ['a folder', 'b folder', 'file file', 'link link', 'tree folder'])
  assert.equal((await linux.files.lstat(join(folder, 'tree/a/b/file')))?.mode, 0o660)
  assert.equal((await linux.files.lstat(join(folder, 'tree/a')))?.mode, 0o2770)
  const stopped = linux.files.visitBeneath(
    folder,
    async () => undefined,
    AbortSignal.abort(new Error('enough')),
  )
  await assert.rejects(stopped, /enough/)
})

test('a tree deeper than PATH_MAX is walked and removed', async t => {
  const { linux, folder } = await start(t)
  await mkdir(join(folder, 'tree'))
  const script = 'chdir $ARGV[0]; for (1 .. 600) { mkdir "d2345678"; chdir "d2345678" }'
  await linux.run(['perl', '-e', script, join(folder, 'tree')])
  await assert.rejects(
    linux.files.visitBeneath(join(folder, 'tree'), async () => undefined),
    {
      code: 'ENAMETOOLONG',
    },
  )
  assert.ok((await linux.files.usage(join(folder, 'tree'))).inodes > 400)
  await linux.files.removeTree(join(folder, 'tree'))
  assert.deepEqual(await readdir(folder), [])
  await linux.files.removeTree(join(folder, 'tree'))
  await linux.files.removeTree(join(folder, 'none/tree'))
})

test('mounts are created, listed, protected from removal and unmounted', { skip: needsRoot }, async t => {
  const { linux, folder } = await start(t)
  const { mounts, files } = linux
  const memory = join(folder, 'a memory')
  const other = join(folder, 'other')
  await mkdir(memory)
  await mkdir(join(other, 'below'), { recursive: true })
  await mounts.tmpfs(memory, { sizeBytes: 1024 * 1024, mode: 0o1777 })
  assert.equal((await files.lstat(memory))?.mode, 0o1777)
  assert.equal((await files.space(memory)).totalBytes, 1024 * 1024)
  await writeFile(join(memory, 'file'), 'kept')
  await mounts.bind(memory, join(other, 'below'), { readonly: true })
  await assert.rejects(writeFile(join(other, 'below/file'), 'x'), { code: 'EROFS' })
  await writeFile(join(memory, 'file'), 'changed')
  const paths = (await mounts.list()).map(each => each.path).filter(each => each.startsWith(folder))
  assert.deepEqual(paths, [memory, join(other, 'below')])
  await assert.rejects(files.removeTree(other), { code: 'EBUSY' })
  assert.equal(await readFile(join(memory, 'file'), 'utf8'), 'changed')
  await mounts.unmount(join(other, 'below'))
  await mounts.unmount(join(other, 'below'))
  await mounts.unmount(join(folder, 'none'))
  await files.removeTree(other)
  // A busy mount that hides another.
  await mounts.tmpfs(memory)
  const busy = spawn('sh', ['-c', 'cd "$0" && echo here && exec sleep 600', memory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(busy, 'exit')
  await once(busy.stdout, 'data')
  await mounts.unmount(memory)
  busy.kill()
  await ended
  assert.deepEqual(await readdir(memory), [])
})

test('a bind mount of an open path is not affected by a replaced path', { skip: needsRoot }, async t => {
  const { linux, folder } = await start(t)
  const root = join(folder, 'root')
  await mkdir(join(root, 'inside'), { recursive: true })
  await mkdir(join(folder, 'target'))
  await writeFile(join(root, 'inside/file'), 'inside')
  {
    await using held = await linux.files.openBeneath(root, 'inside')
    await linux.files.renameUnsynced(join(root, 'inside'), join(root, 'moved'))
    await symlink('/etc', join(root, 'inside'))
    await linux.mounts.bind(held.path, join(folder, 'target'))
  }
  assert.deepEqual(await readdir(join(folder, 'target')), ['file'])
  const [outside, inside] = await Promise.all([stat(join(root, 'moved')), stat(join(folder, 'target'))])
  assert.equal(inside.ino, outside.ino)
})

test('mounts below a shared folder propagate', { skip: needsRoot }, async t => {
  const { linux, folder } = await start(t)
  const shared = join(folder, 'shared')
  await mkdir(shared)
  await linux.mounts.makeShared(shared)
  await linux.mounts.makeShared(shared)
  const lines = (await readFile('/proc/self/mountinfo', 'utf8'))
    .split('\n')
    .filter(each => each.includes(shared))
  assert.equal(lines.length, 1)
  assert.match(lines[0]!, / shared:\d+ /)
})
