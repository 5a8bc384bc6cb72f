import assert from 'node:assert/strict'
import type { Check } from '../cri.conformance.ts'
import { create, ended, logLines, refuses, start, startObedient, until } from './test-scene.ts'

export function containersConformance(check: Check): void {
  check('a container is created, started and listed with its configuration', async scene => {
    const { runtime } = scene
    const pod = await scene.pod()
    const id = await create(pod, 'deaf')
    const created = await runtime.containerStatus(id)
    assert.equal(created.state, 'created')
    assert.ok(created.createdAt > 0n)
    assert.deepEqual([created.startedAt, created.finishedAt], [0n, 0n])
    await runtime.startContainer(id)
    const running = await runtime.containerStatus(id)
    assert.equal(running.state, 'running')
    assert.ok(running.startedAt >= running.createdAt)
    assert.equal(running.finishedAt, 0n)
    assert.deepEqual([running.name, running.attempt], ['deaf', 0])
    assert.deepEqual({ ...running.annotations }, { 'example.com/hash': '4711' })
    assert.equal(running.logPath, `${pod.sandbox.logFolder}/deaf/0.log`)
    assert.equal(running.userImage, scene.subject.image)
    assert.notEqual(running.imageRef, '')
    const [listed] = await runtime.listContainers({ podUid: pod.uid })
    assert.ok(listed)
    assert.deepEqual(
      [listed.id, listed.sandboxId, listed.name, listed.attempt, listed.state, listed.createdAt],
      [id, pod.sandboxId, 'deaf', 0, 'running', running.createdAt],
    )
    assert.deepEqual({ ...listed.labels }, { ...running.labels })
  })

  check('listContainers returns all containers or those of one pod', async scene => {
    const [one, two] = [await scene.pod(), await scene.pod()]
    const ids = [await start(one, 'deaf'), await create(one, 'quick'), await start(two, 'deaf')]
    const all = (await scene.runtime.listContainers()).map(({ id }) => id)
    assert.ok(ids.every(id => all.includes(id)))
    const own = await scene.runtime.listContainers({ podUid: one.uid })
    assert.deepEqual(new Set(own.map(({ id }) => id)), new Set(ids.slice(0, 2)))
    assert.deepEqual(await scene.runtime.listContainers({ podUid: 'nobody' }), [])
  })

  check('the status of an exited container has its exit code, reason and times', async scene => {
    const pod = await scene.pod()
    const failed = await ended(scene, await start(pod, 'talker'))
    assert.deepEqual([failed.exitCode, failed.reason], [3, 'Error'])
    // For a container that exits immediately, the order of the two timestamps is not guaranteed.
    assert.ok(failed.finishedAt > 0n && failed.startedAt > 0n)
    const completed = await ended(scene, await start(pod, 'quick'))
    assert.deepEqual([completed.exitCode, completed.reason], [0, 'Completed'])
  })

  check('the log of an exited container has all its output, line by line', async scene => {
    const pod = await scene.pod()
    const { logPath } = await ended(scene, await start(pod, 'talker'))
    const lines = await until(scene, 'both lines are there', async () => {
      const found = await logLines(scene, logPath)
      return found.length >= 2 ? found : undefined
    })
    assert.deepEqual(new Set(lines), new Set(['stdout F one', 'stderr F two']))
  })

  check('reopenContainerLog continues a rotated log in a new file', async scene => {
    const { runtime, subject } = scene
    const { files } = subject.platform
    const pod = await scene.pod()
    const id = await start(pod, 'copier', { stdin: true })
    const { logPath } = await runtime.containerStatus(id)
    await using process = await runtime.attach(id, { stdin: true, stdout: true, stderr: false, tty: false })
    const say = async (text: string): Promise<void> => {
      await process.writeStdin(Buffer.from(`${text}\n`))
      await until(scene, `${text} is in the log`, async () => {
        const lines = await logLines(scene, logPath).catch((): readonly string[] => [])
        return lines.includes(`stdout F ${text}`) || undefined
      })
    }
    await say('before')
    await files.rename(logPath, `${logPath}.1`)
    await runtime.reopenContainerLog(id)
    await say('after')
    assert.deepEqual(await logLines(scene, `${logPath}.1`), ['stdout F before'])
    assert.deepEqual(await logLines(scene, logPath), ['stdout F after'])
  })

  check('stopContainer sends SIGTERM, and SIGKILL after the grace period', async scene => {
    const { runtime } = scene
    const pod = await scene.pod()
    const obedient = await startObedient(pod)
    await runtime.stopContainer(obedient, 60)
    const told = await runtime.containerStatus(obedient)
    assert.deepEqual([told.state, told.exitCode, told.reason], ['exited', 5, 'Error'])
    const deaf = await start(pod, 'deaf')
    await runtime.stopContainer(deaf, 1)
    const killed = await runtime.containerStatus(deaf)
    assert.deepEqual([killed.state, killed.exitCode, killed.reason], ['exited', 137, 'Error'])
    await runtime.stopContainer(deaf, 1)
    await runtime.stopContainer(obedient, 0)
  })

  check('stopContainer without a grace period kills at once', async scene => {
    const id = await start(await scene.pod(), 'obedient')
    await scene.runtime.stopContainer(id, 0)
    assert.equal((await scene.runtime.containerStatus(id)).exitCode, 137)
  })

  check('a container that was never started can be stopped and removed', async scene => {
    const { runtime } = scene
    const pod = await scene.pod()
    const id = await create(pod, 'deaf')
    await runtime.stopContainer(id, 1)
    await runtime.removeContainer(id)
    assert.deepEqual(await runtime.listContainers({ podUid: pod.uid }), [])
  })

  check('removing a running container is idempotent and frees its name', async scene => {
    const { runtime } = scene
    const pod = await scene.pod()
    const id = await start(pod, 'deaf')
    await refuses(create(pod, 'deaf'), 'failed')
    await runtime.removeContainer(id)
    await runtime.removeContainer(id)
    await runtime.stopContainer(id, 1)
    await refuses(runtime.containerStatus(id), 'not-found')
    assert.deepEqual(await runtime.listContainers({ podUid: pod.uid }), [])
    await start(pod, 'deaf')
  })

  check('starting a missing program fails, and the container status has the reason', async scene => {
    const id = await create(await scene.pod(), 'absent')
    await refuses(scene.runtime.startContainer(id), 'failed')
    const status = await scene.runtime.containerStatus(id)
    assert.deepEqual([status.state, status.exitCode, status.reason], ['exited', 128, 'StartError'])
    assert.notEqual(status.message, '')
  })

  check('a container that exceeds its memory limit is reported as OOMKilled', async scene => {
    const limit = 16 * 1_024 * 1_024
    const resources = { memoryLimitBytes: limit, memorySwapLimitBytes: limit }
    const id = await start(await scene.pod(), 'hungry', { resources })
    const status = await until(scene, 'it was killed for its memory', async () => {
      const now = await scene.runtime.containerStatus(id)
      return now.state === 'exited' && now.reason === 'OOMKilled' ? now : undefined
    })
    assert.equal(status.exitCode, 137)
  })

  check('a container can be started once, and only in a ready sandbox', async scene => {
    const { runtime } = scene
    const pod = await scene.pod()
    const once = await start(pod, 'quick')
    await ended(scene, once)
    await refuses(runtime.startContainer(once), 'failed')
    const late = await create(pod, 'deaf')
    await runtime.stopPodSandbox(pod.sandboxId)
    await refuses(runtime.startContainer(late), 'failed')
  })

  check('updateContainerResources changes the limits of a running container', async scene => {
    const { runtime } = scene
    const id = await start(await scene.pod(), 'deaf', { resources: { cpuShares: 128, cpuPeriod: 100_000 } })
    await runtime.updateContainerResources(id, { cpuShares: 256, memoryLimitBytes: 64 * 1_024 * 1_024 })
    const { resources } = await runtime.containerStatus(id)
    assert.deepEqual([resources?.cpuShares, resources?.memoryLimitBytes], [256, 64 * 1_024 * 1_024])
  })

  check('a missing container is not found, and stopping or removing it succeeds', async ({ runtime }) => {
    const id = 'f'.repeat(64)
    const streams = { stdin: false, stdout: true, stderr: true, tty: false }
    await refuses(runtime.podSandboxStatus(id), 'not-found')
    await refuses(runtime.containerStatus(id), 'not-found')
    await refuses(runtime.startContainer(id), 'not-found')
    await refuses(runtime.updateContainerResources(id, { cpuShares: 2 }), 'not-found')
    await refuses(runtime.reopenContainerLog(id), 'not-found')
    await refuses(runtime.execSync({ containerId: id, command: ['true'], timeoutMs: 1_000 }), 'not-found')
    await refuses(runtime.exec({ containerId: id, command: ['true'], ...streams }), 'not-found')
    await refuses(runtime.attach(id, streams), 'not-found')
    await refuses(runtime.portForward(id, 80), 'not-found')
    await runtime.stopContainer(id, 1)
    await runtime.removeContainer(id)
    await runtime.stopPodSandbox(id)
    await runtime.removePodSandbox(id)
  })

  check('listContainerStats has the usage of running containers', async scene => {
    const { runtime } = scene
    const [pod, other] = [await scene.pod(), await scene.pod()]
    const id = await start(pod, 'deaf')
    await ended(scene, await start(pod, 'quick'))
    await start(other, 'deaf')
    const stats = await until(scene, 'memory was measured', async () => {
      const found = await runtime.listContainerStats({ podUid: pod.uid })
      return found.some(({ memoryWorkingSetBytes }) => memoryWorkingSetBytes > 0) ? found : undefined
    })
    assert.deepEqual(
      stats.map(({ containerId, name, podUid }) => [containerId, name, podUid]),
      [[id, 'deaf', pod.uid]],
    )
    assert.ok(stats[0]!.timestamp > 0n)
    assert.ok(stats[0]!.cpuNanoseconds >= 0n)
    const all = await runtime.listContainerStats()
    assert.ok(all.some(({ podUid }) => podUid === other.uid))
  })

  check('an aborted call rejects with the reason of its signal', async scene => {
    const pod = await scene.pod()
    const id = await start(pod, 'deaf')
    const reason = new Error('enough')
    const signal = AbortSignal.abort(reason)
    await assert.rejects(scene.runtime.containerStatus(id, { signal }), error => error === reason)
    await assert.rejects(
      scene.runtime.execSync({ containerId: id, command: ['sleep', '100'], timeoutMs: 0 }, { signal }),
      error => error === reason,
    )
    await refuses(
      scene.runtime.execSync(
        { containerId: id, command: ['sleep', '100'], timeoutMs: 0 },
        { timeoutMs: 200 },
      ),
      'timeout',
    )
  })
}
