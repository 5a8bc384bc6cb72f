import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { lockFolder, readLockHolder, type LockHolder } from './lock-folder.ts'

const folder = '/cluster'

test('the lock of a cluster is not waited for, and says that the cluster runs', async () => {
  const { simulation, platform } = start()
  const lock = await simulation.run(lockFolder(platform, folder, () => holder({})))
  assert.deepEqual(await simulation.run(readLockHolder(platform, folder)), holder({}))
  await assert.rejects(simulation.run(lockFolder(platform, folder, () => holder({}))), {
    message: '/cluster is in use by another k8ts process: stop it, or set --data-dir',
  })
  await simulation.run(Promise.resolve(lock[Symbol.asyncDispose]()))
  assert.equal(await simulation.run(readLockHolder(platform, folder)), undefined)
})

test('a command is waited for, and named if it takes long', async () => {
  const { simulation, platform } = start()
  const command = await simulation.run(
    lockFolder(platform, folder, () => holder({ command: 'k8ts snapshot save' })),
  )
  await assert.rejects(simulation.run(lockFolder(platform, folder, () => holder({}))), {
    message:
      '/cluster is in use by k8ts snapshot save, process 7: wait until it has ended, or set --data-dir',
  })
  const waiting = lockFolder(platform, folder, () => holder({}))
  await simulation.advance(1_000)
  await simulation.run(Promise.resolve(command[Symbol.asyncDispose]()))
  await using _ = await simulation.run(waiting)
  assert.deepEqual(await simulation.run(readLockHolder(platform, folder)), holder({}))
})

function start() {
  const simulation = new Simulation({ seed: 1 })
  const { clock, random, network, files, processes, log } = simulation.host('a')
  return { simulation, platform: { clock, random, network, files, processes, log } }
}

function holder(more: Partial<LockHolder>): LockHolder {
  return { pid: 7, isReady: false, startedMs: 0, ...more }
}
