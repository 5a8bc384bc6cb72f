/**
 * Shims that do not answer, on a real node: stopped, or deadlocked by concurrent execs where containerd allows it. The
 * kubelet has to notice, to restart the pod or to end its deletion, and to leave nothing of it.
 */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { Pod, PodSpec } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import { containersMissing, processesWith } from './test-containerd.ts'
import { TestNode } from './test-node.ts'
import { waitUntil } from '../wait-until.ts'

const spec: PodSpec = {
  terminationGracePeriodSeconds: 1,
  containers: [
    { name: 'main', image: 'busybox', command: ['sleep', '100000'] },
    {
      name: 'probed',
      image: 'busybox',
      command: ['sleep', '100000'],
      readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1, failureThreshold: 100 },
    },
  ],
}

test('a node with shims that do not answer', { skip: containersMissing }, async t => {
  const node = await TestNode.start(t, { runtimeRequestTimeoutMs: 4_000 })
  const { runtime, linux } = node.containerd

  await t.test('a pod whose shim is stopped is restarted, and says why', async () => {
    await node.run('restarted', spec)
    await node.run('bystander', spec)
    const before = await node.untilRunning('restarted')
    await node.untilRunning('bystander')
    const [sandbox] = await runtime.listPodSandbox({ podUid: before.metadata.uid! })
    const { shim, containers } = await processesOf(node, before)
    process.kill(shim, 'SIGSTOP')
    const session = await runtime.exec({ containerId: containerId(before), command: ['true'], ...streams })
    const pod = await node.until('restarted', isRestarted)
    assert.equal((await session.result).type, 'failed')
    const told = await node.events('restarted')
    assert.ok(
      told.includes(
        `SandboxNotResponding: The shim of pod sandbox ${sandbox!.id} does not respond, ` +
          'it will be killed with its containers.',
      ),
      told.join('\n'),
    )
    assert.notEqual(containerId(pod), containerId(before))
    for (const pid of [shim, ...containers]) assert.equal(await isAlive(pid), false, `process ${pid} is gone`)
    assert.equal(restartsOf(await node.get('bystander')), 0)
    await node.delete('restarted')
    await node.delete('bystander')
  })

  await t.test('a pod whose shim is stopped can be deleted and leaves nothing', async () => {
    const { metadata } = await node.run('deleted', spec)
    const pod = await node.untilRunning('deleted')
    const { shim, containers } = await processesOf(node, pod)
    process.kill(shim, 'SIGSTOP')
    await node.delete('deleted')
    assert.deepEqual(await runtime.listPodSandbox({ podUid: metadata.uid! }), [])
    for (const pid of [shim, ...containers]) assert.equal(await isAlive(pid), false, `process ${pid} is gone`)
    const mounts = (await linux.mounts.list()).filter(({ path }) => path.includes(metadata.uid!))
    assert.deepEqual(mounts, [])
  })

  await t.test('a pod with more concurrent execs than a shim endures can be deleted', async () => {
    await node.run('storm', spec)
    const id = containerId(await node.untilRunning('storm'))
    const command = ['sh', '-c', 'echo begun; sleep 1']
    const sessions = Array.from({ length: execCount }, async () => {
      await using session = await runtime.exec({ containerId: id, command, ...streams })
      return await session.result
    })
    await Promise.race(sessions)
    await node.delete('storm')
    await Promise.allSettled(sessions)
    assert.equal(await node.client.find(pods, { namespace: 'default', name: 'storm' }), undefined)
  })

  await waitUntil(async () => (await shimsOf(node)).length === 0)
})

/** Deadlocks a shim of containerd 1.6. */
const execCount = 200

const streams = { stdin: false, stdout: true, stderr: false, tty: false }

function containerId({ status }: Pod): string {
  const own = status?.containerStatuses?.find(({ name }) => name === 'main')
  return (own?.containerID ?? '').replace('containerd://', '')
}

function restartsOf({ status }: Pod): number {
  return status?.containerStatuses?.reduce((sum, { restartCount }) => sum + restartCount, 0) ?? 0
}

function isRestarted(pod: Pod): boolean {
  const conditions = pod.status?.conditions ?? []
  return restartsOf(pod) >= 2 && conditions.some(({ type, status }) => type === 'Ready' && status === 'True')
}

async function shimsOf({ containerd }: TestNode): Promise<readonly number[]> {
  const pids = await processesWith(containerd.containerd.socketPath)
  const lines = await Promise.all(pids.map(pid => commandLineOf(pid)))
  return pids.filter((_, index) => lines[index]!.includes('containerd-shim'))
}

/** The shim of the pod and the main processes of its containers and of its sandbox. */
async function processesOf(
  node: TestNode,
  pod: Pod,
): Promise<{ shim: number; containers: readonly number[] }> {
  const [sandbox] = await node.containerd.runtime.listPodSandbox({ podUid: pod.metadata.uid! })
  for (const shim of await shimsOf(node)) {
    if (!(await commandLineOf(shim)).includes(sandbox!.id)) continue
    const children = await readFile(`/proc/${shim}/task/${shim}/children`, 'utf8')
    return { shim, containers: children.split(' ').filter(Boolean).map(Number) }
  }
  throw new Error(`sandbox ${sandbox!.id} has no shim`)
}

async function commandLineOf(pid: number): Promise<string> {
  return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
}

/** False for a process that is dead but not reaped by its parent. */
async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return /^State:\s+[^ZX\s]/m.test(status)
}
