import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Containerd } from '#/cri/containerd.ts'
import { criConformance } from '#/cri/cri.conformance.ts'
import { removePods } from './remove-pods.ts'
import { containerConfig, sandboxConfig } from '#/cri/test-configs.ts'
import { connectHttp, loadGrpc } from '#/platform/node.ts'
import type { Clock } from '#/platform/platform.ts'
import { waitUntil } from '../wait-until.ts'
import { containersMissing, processesWith, TestContainerd } from './test-containerd.ts'
import { busyboxReference } from './test-images.ts'

const connectGrpc = await loadGrpc()

const shimDelayMs = 1_000

describe('containerd', { skip: containersMissing }, () => {
  let node: TestContainerd
  before(async () => {
    node = await TestContainerd.start()
  })
  after(async () => {
    const { socketPath } = node.containerd
    await node[Symbol.asyncDispose]()
    assert.deepEqual(await processesWith(socketPath), [], 'no containerd and no shim is left')
  })

  async function restart(): Promise<void> {
    const { pid } = node.containerd
    process.kill(pid!, 'SIGKILL')
    await waitUntil(() => node.containerd.pid !== pid)
  }

  /** The init process of a container or sandbox. */
  async function firstProcess(id: string): Promise<number> {
    const tasks = join(node.containerd.folder, 'state/io.containerd.runtime.v2.task/k8s.io')
    return Number(await readFile(join(tasks, id, 'init.pid'), 'utf8'))
  }

  criConformance('containerd', async () => ({
    runtime: node.runtime,
    platform: node.platform,
    image: busyboxReference,
    folder: join(node.folder, 'conformance'),
    cgroupParent: node.cgroupParent,
    run: promise => promise,
    restart,
    killSandbox: async id => void process.kill(await firstProcess(id), 'SIGKILL'),
  }))

  async function start(uid: string, script: string): Promise<string> {
    const labels = { 'io.kubernetes.pod.uid': uid }
    const logFolder = join(node.folder, 'logs', uid)
    const sandbox = sandboxConfig(uid, { labels, logFolder, cgroupParent: node.cgroupParent })
    const sandboxId = await node.runtime.runPodSandbox(sandbox)
    const image = await node.runtime.imageStatus(busyboxReference)
    const command = ['sh', '-c', script]
    const config = containerConfig('it', { image: image!.id, command, labels })
    const id = await node.runtime.createContainer({ sandboxId, sandbox, config })
    await node.runtime.startContainer(id)
    return id
  }

  /** Retries until there is a result, also while the runtime is down. */
  async function until<T>(ask: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      const answer = await ask().catch(() => undefined)
      if (answer !== undefined) return answer
      await node.platform.clock.sleep(20)
    }
  }

  test('containers and their logs survive repeated kills of containerd', async () => {
    const id = await start(
      'counting',
      'n=0; while [ $n -lt 150 ]; do n=$((n+1)); echo $n; sleep 0.02; done; exit 9',
    )
    const pid = await firstProcess(id)
    for (let count = 0; count < 4; count++) {
      await restart()
      assert.equal(await firstProcess(id), pid)
    }
    const status = await until(async () => {
      const found = await node.runtime.containerStatus(id)
      return found.state === 'exited' ? found : undefined
    })
    assert.deepEqual([status.exitCode, status.reason], [9, 'Error'])
    const last = await until(async () => {
      const lines = (await readFile(status.logPath, 'utf8')).trim().split('\n')
      return lines.at(-1)?.endsWith(' stdout F 150') ? lines : undefined
    })
    // Lines that the killed shim had read but not written are lost; the rest is in order and without
    // duplicates.
    const numbers = last.map(line => Number(line.split(' ').at(-1)))
    assert.ok(numbers.every((number, index) => index === 0 || number > numbers[index - 1]!))
    assert.ok(numbers.length > 100, `${numbers.length} of 150 lines`)
  })

  for (const { script, code, reason } of [
    { script: 'trap "exit 0" TERM; sleep 100000 & wait', code: 0, reason: 'Completed' },
    { script: 'trap "exit 7" TERM; sleep 100000 & wait', code: 7, reason: 'Error' },
    { script: 'sleep 100000', code: 137, reason: 'Error' },
  ]) {
    test(`a container that exits while containerd is down is reported with exit code ${code}`, async () => {
      await using _following = followContainerEvents()
      const id = await start(`ending-${code}`, script)
      const pid = await firstProcess(id)
      await until(async () => ((await childrenOf(pid)) > 0 || code === 137 ? true : undefined))
      let [killedMs, backMs] = [Infinity, 0]
      await node.whileDown(async () => {
        killedMs = Date.now()
        process.kill(pid, code === 137 ? 'SIGKILL' : 'SIGTERM')
        await waitUntil(() => !existsSync(`/proc/${pid}`))
        // The shim takes the time of the exit after it has reaped the process.
        await node.platform.clock.sleep(shimDelayMs)
        backMs = Date.now()
      })
      const status = await until(async () => {
        const found = await node.runtime.containerStatus(id)
        return found.state === 'exited' ? found : undefined
      })
      assert.deepEqual([status.exitCode, status.reason], [code, reason])
      const finishedMs = Number(status.finishedAt / 1_000_000n)
      assert.ok(
        killedMs <= finishedMs && finishedMs <= backMs,
        `finished at ${finishedMs}, killed at ${killedMs}, containerd back at ${backMs}`,
      )
    })
  }

  test('a container that exits with its sandbox while containerd is down is reported without waiting', async () => {
    // A call that returns does not wait for the event of the exit: the sleeps of this clock never end.
    const clock: Clock = { ...node.platform.clock, sleep: (_delayMs, signal) => aborted(signal!) }
    const { socketPath } = node.containerd
    const platform = { ...node.platform, clock }
    await using runtime = Containerd.connect({ platform, connectGrpc, connectHttp, socketPath })
    await using _following = followContainerEvents(runtime)
    const id = await start('ending-together', 'sleep 100000')
    const { sandboxId } = (await node.runtime.listContainers()).find(each => each.id === id)!
    const pids = [await firstProcess(id), await firstProcess(sandboxId)]
    const back = restart()
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await back
    const status = await until(async () => {
      const found = await runtime.containerStatus(id)
      return found.state === 'exited' ? found : undefined
    })
    // The shim exits with the last of its containers, and from 1.7 on nothing else knows the exit code.
    assert.ok(['137 Error', '255 Unknown'].includes(`${status.exitCode} ${status.reason}`))
  })

  /** As the kubelet does: exit codes that CRI has lost are recovered only while changes are followed. */
  function followContainerEvents(runtime: Containerd = node.runtime): AsyncDisposable {
    const end = new AbortController()
    const following = (async () => {
      for await (const _ of runtime.containerEvents(end.signal));
    })()
    return {
      [Symbol.asyncDispose]: async () => {
        end.abort()
        await following
      },
    }
  }

  async function childrenOf(pid: number): Promise<number> {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return children.split(' ').filter(Boolean).length
  }

  test('creating pods is retried while containerd is killed, and no shim, mount or address leaks', async () => {
    const made = Promise.all(Array.from({ length: 4 }, (_, index) => makeInTheEnd(`stubborn-${index}`)))
    for (let count = 0; count < 2; count++) {
      const before = attempts
      await waitUntil(async () => {
        const hasShims = (await processesWith(node.containerd.socketPath)).length > 0
        return hasShims && (count === 0 || attempts > before)
      })
      await restart()
    }
    const ids = await made
    const states = await Promise.all(ids.map(id => node.runtime.podSandboxStatus(id)))
    assert.deepEqual(new Set(states.map(({ state }) => state)), new Set(['ready']))
    assert.equal(new Set(states.map(({ addresses }) => addresses[0])).size, ids.length)
    await removePods(node.runtime, node.platform)
    // A shim that was starting when containerd was killed may appear slightly later.
    await waitUntil(async () => {
      await node.containerd.removeOrphans()
      return (await processesWith(node.containerd.socketPath)).length === 0
    })
    const mounts = (await node.linux.mounts.list()).filter(({ path }) => path.startsWith(node.folder))
    assert.deepEqual(mounts, [])
    const addresses = await readdir(join(node.folder, 'ipam/test'))
    assert.deepEqual(
      addresses.filter(name => name.startsWith('10.')),
      [],
    )
  })

  /** Calls of `runPodSandbox`. */
  let attempts = 0

  /** As the kubelet does: removes incomplete sandboxes and retries. */
  async function makeInTheEnd(uid: string): Promise<string> {
    const labels = { 'io.kubernetes.pod.uid': uid }
    const logFolder = join(node.folder, 'logs', uid)
    const base = sandboxConfig(uid, { labels, logFolder, cgroupParent: node.cgroupParent })
    let attempt = 0
    return until(async () => {
      for (const { id } of await node.runtime.listPodSandbox({ podUid: uid })) {
        await node.runtime.stopPodSandbox(id)
        await node.runtime.removePodSandbox(id)
      }
      attempts++
      return node.runtime.runPodSandbox({ ...base, metadata: { ...base.metadata, attempt: attempt++ } })
    })
  }
})

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
