import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { CriError } from '#/cri/cri.ts'
import { ensurePauseImage } from '#/cri/load-image.ts'
import {
  killOrphanedContainerd,
  PrivateContainerd,
  type PrivateContainerdOptions,
} from '#/cri/private-containerd.ts'
import { connectHttp, loadGrpc, nodeLinux, nodePlatform } from '#/platform/node.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { cniBinFolder, containersMissing, processesWith } from './test-containerd.ts'
import { waitUntil } from '../wait-until.ts'

const skip = containersMissing
const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const linux = await nodeLinux()
const connectGrpc = await loadGrpc()

async function optionsFor(t: TestContext): Promise<PrivateContainerdOptions> {
  const folder = await temporaryFolder(t)
  const cni = { binFolder: cniBinFolder, configFolder: join(folder, 'cni') }
  return { platform, linux, connectGrpc, connectHttp, folder: join(folder, 'containerd'), cni }
}

test('several private containerds run side by side in isolation', { skip }, async t => {
  await using one = await PrivateContainerd.start(await optionsFor(t))
  await using two = await PrivateContainerd.start(await optionsFor(t))
  await using runtime = one.connect()
  await using other = two.connect()
  const loader = { platform, linux, connectGrpc, socketPath: one.socketPath, runtime }
  assert.equal(await ensurePauseImage(loader), 'loaded')
  assert.equal((await runtime.listImages()).length, 1)
  assert.deepEqual(await other.listImages(), [])
  assert.notEqual(one.pid, two.pid)
})

test('a killed containerd is restarted, a stopped one is not', { skip }, async t => {
  const options = await optionsFor(t)
  const containerd = await PrivateContainerd.start({ ...options, platform: quiet })
  const seen = new Set([containerd.pid])
  for (let count = 0; count < 3; count++) {
    process.kill(containerd.pid!, 'SIGKILL')
    await waitUntil(() => !seen.has(containerd.pid))
    seen.add(containerd.pid)
  }
  await using runtime = containerd.connect()
  await answers(() => runtime.version())
  await containerd[Symbol.asyncDispose]()
  assert.deepEqual(await processesWith(options.folder), [])
  await assert.rejects(runtime.version(), { name: 'CriError', reason: 'unavailable' })
})

test('a new containerd on the same directory has the images of the previous one', { skip }, async t => {
  const options = await optionsFor(t)
  for (const expected of ['loaded', 'present', 'present']) {
    await using containerd = await PrivateContainerd.start(options)
    await using runtime = containerd.connect()
    const loader = { platform, linux, connectGrpc, socketPath: containerd.socketPath, runtime }
    assert.equal(await ensurePauseImage(loader), expected)
  }
})

test('a lasting containerd goes on until its configuration changes', { skip }, async t => {
  const options = { ...(await optionsFor(t)), platform: quiet, isLasting: true }
  t.after(() => killOrphanedContainerd(quiet, linux, options.folder))
  const start = async (cni = options.cni): Promise<number | undefined> => {
    await using containerd = await PrivateContainerd.start({ ...options, cni })
    return containerd.pid
  }
  const first = await start()
  assert.equal(await start(), first)
  const changed = await start({ ...options.cni, configFolder: `${options.cni.configFolder}-2` })
  assert.notEqual(changed, first)
  {
    await using containerd = await PrivateContainerd.start({ ...options })
    const { pid } = containerd
    process.kill(pid!, 'SIGKILL')
    await waitUntil(() => containerd.pid !== pid)
    await using runtime = containerd.connect()
    await answers(() => runtime.version())
  }
  const { mode } = await stat(join(options.folder, 'containerd.log'))
  assert.equal(mode & 0o777, 0o600)
  await killOrphanedContainerd(quiet, linux, options.folder)
  assert.deepEqual(await processesWith(options.folder), [])
})

test('an orphaned containerd is killed', { skip }, async t => {
  const options = await optionsFor(t)
  const first = await PrivateContainerd.start(options)
  await first[Symbol.asyncDispose]()
  const command = ['-c', 'exec "$0" --config "$1"', 'containerd', join(options.folder, 'containerd.toml')]
  const orphan = spawn('sh', command, { stdio: 'ignore' })
  t.after(() => orphan.kill('SIGKILL'))
  const exited = once(orphan, 'exit')
  await writeFile(join(options.folder, 'containerd.pid'), `${orphan.pid}\n`)
  await using probe = first.connect()
  await answers(() => probe.version())
  await using second = await PrivateContainerd.start({ ...options, platform: quiet })
  await exited
  await using runtime = second.connect()
  assert.equal((await runtime.version()).name, 'containerd')
})

test('a containerd that cannot start is reported with the reason', { skip }, async t => {
  const options = await optionsFor(t)
  await mkdir(join(options.folder, 'root'), { recursive: true })
  await writeFile(join(options.folder, 'root', 'io.containerd.metadata.v1.bolt'), 'in the way')
  await assert.rejects(
    PrivateContainerd.start(options),
    /^Error: containerd's CRI plugin failed to load: .*bolt.*not a directory/,
  )
  assert.deepEqual(await processesWith(options.folder), [])
  const long = join(options.folder, 'x'.repeat(100))
  await assert.rejects(
    PrivateContainerd.start({ ...options, folder: long }),
    /too long for containerd's Unix sockets/,
  )
})

test('a failing launcher is reported with its error', { skip }, async t => {
  const options = await optionsFor(t)
  const launcher = ['sh', '-c', 'echo "containerd: no such network" >&2; exit 1', 'sh']
  await assert.rejects(PrivateContainerd.start({ ...options, launcher }), /cannot start: no such network/)
})

test('aborting the start of containerd leaves no process', { skip }, async t => {
  const options = await optionsFor(t)
  const reason = new Error('enough')
  const giveUp = new AbortController()
  const starting = PrivateContainerd.start(options, giveUp.signal)
  giveUp.abort(reason)
  await assert.rejects(starting, error => error === reason)
  assert.deepEqual(await processesWith(options.folder), [])
})

test('the native snapshotter is used where overlayfs is not available', { skip }, async t => {
  const options = await optionsFor(t)
  const folder = join(options.folder, '..')
  for (const name of ['lower', 'upper', 'work', 'merged']) await mkdir(join(folder, name))
  const [lower, upper, work, merged] = ['lower', 'upper', 'work', 'merged'].map(name => join(folder, name))
  const flags = [`lowerdir=${lower}`, `upperdir=${upper}`, `workdir=${work}`]
  await linux.mounts.mount({ source: 'overlay', target: merged!, type: 'overlay', flags })
  try {
    await using containerd = await PrivateContainerd.start({ ...options, folder: join(merged!, 'c') })
    await using runtime = containerd.connect()
    const loader = { platform, linux, connectGrpc, socketPath: containerd.socketPath, runtime }
    assert.equal(await ensurePauseImage(loader), 'loaded')
    assert.match((await runtime.imageFsInfo()).folder, /snapshotter\.v1\.native$/)
  } finally {
    await linux.mounts.unmount(merged!)
  }
})

test('the containerd log has mode 0600', { skip }, async t => {
  const options = await optionsFor(t)
  await using containerd = await PrivateContainerd.start(options)
  const path = join(containerd.folder, 'containerd.log')
  // The log appears at once, with an error about the missing network.
  await waitUntil(() => existsSync(path))
  assert.equal((await stat(path)).mode & 0o777, 0o600)
  assert.match(await readFile(path, 'utf8'), /level=/)
})

const quiet = { ...platform, log: { ...platform.log, warn: () => undefined, error: () => undefined } }

async function answers(ask: () => Promise<unknown>): Promise<void> {
  await waitUntil(async () => {
    try {
      await ask()
      return true
    } catch (error) {
      assert.ok(error instanceof CriError && error.reason === 'unavailable', String(error))
      return false
    }
  })
}
