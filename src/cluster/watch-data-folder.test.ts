import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedLinux, Simulation } from '#/platform/simulated.ts'
import { lockFolder } from './lock-folder.ts'
import { watchDataFolder, type FolderLoss } from './watch-data-folder.ts'

const folder = '/cluster'

async function start(pid = 7, watch?: SimulatedLinux['files']['watch']) {
  const simulation = new Simulation({ seed: 1 })
  const { clock, random, network, files, processes, log } = simulation.host('a')
  const platform = { clock, random, network, files, processes, log }
  const linux = new SimulatedLinux({ files })
  await simulation.run(files.makeFolder('/cluster/pki'))
  const holder = { pid: 7, isReady: true, startedMs: 0 }
  const lock = await simulation.run(lockFolder(platform, folder, () => holder))
  const stopping = new AbortController()
  const lost: { loss?: FolderLoss | undefined; hasEnded?: true } = {}
  const watching = watchDataFolder(
    { platform, linux: watch ? { files: { watch } } : linux, folder, pid },
    stopping.signal,
  ).then(loss => {
    Object.assign(lost, { loss, hasEnded: true })
  })
  return { simulation, linux, files, lock, stopping, watching, lost }
}

test('a data folder that is there is watched until the end of the cluster', async () => {
  const { simulation, linux, lock, stopping, watching, lost } = await start()
  linux.files.tell(folder)
  await simulation.advance(3_600_000)
  await simulation.run(Promise.resolve(lock[Symbol.asyncDispose]()))
  linux.files.tell(folder)
  await simulation.advance(60_000)
  assert.deepEqual(lost, {}, 'also without its lock, which a cleanup of sockets may have removed')
  stopping.abort()
  await simulation.run(watching)
  assert.deepEqual(lost, { loss: undefined, hasEnded: true })
})

test('a deleted data folder is noticed, also if the folder itself is left', async () => {
  for (const path of [folder, '/cluster/pki']) {
    const { simulation, linux, files, lost } = await start()
    await simulation.run(files.remove(path))
    linux.files.tell(folder)
    await simulation.advance(1)
    assert.deepEqual(lost.loss, { message: 'the data folder /cluster was deleted', isTakenOver: false })
  }
})

test('a data folder that another process has taken over is noticed', async () => {
  const { simulation, lost } = await start(5)
  await simulation.advance(1)
  const message = 'the data folder /cluster was deleted, and is in use by process 7 now'
  assert.deepEqual(lost.loss, { message, isTakenOver: true })
})

test('a folder that cannot be watched is checked periodically', async () => {
  const watch = (): never => {
    throw new Error('ENOSPC: System limit for number of file watchers reached')
  }
  const { simulation, files, lost } = await start(7, watch)
  await simulation.advance(60_000)
  assert.deepEqual(lost, {})
  await simulation.run(files.remove(folder))
  await simulation.advance(6_000)
  assert.equal(lost.loss?.message, 'the data folder /cluster was deleted')
})
