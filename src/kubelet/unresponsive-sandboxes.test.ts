import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSpec } from '#/api/generated/core/v1.ts'
import { CriError } from '#/cri/cri.ts'
import { TestKubelet } from './test-kubelet.ts'

const present = { images: { i: { isPresent: true } } }

const probed: PodSpec = {
  containers: [
    { name: 'web', image: 'i', readinessProbe: { exec: { command: ['true'] }, periodSeconds: 5 } },
    { name: 'side', image: 'i' },
  ],
}

async function sandboxOf(node: TestKubelet): Promise<string> {
  const [sandbox] = await node.plane.run(node.runtime.listPodSandbox())
  return sandbox!.id
}

function killsOf(events: readonly string[]): number {
  return events.filter(event => event.startsWith('SandboxNotResponding')).length
}

test('a pod whose shim hangs is restarted and says why', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('a', probed)
  await node.create('b', { containers: [{ name: 'other', image: 'i' }] })
  await node.advance(10)
  const sandbox = await sandboxOf(node)
  node.runtime.faults.hangShim(sandbox)
  await node.advance(120)
  assert.equal(await node.see('a'), 'Running ready side=running*1 web=running*1')
  assert.equal(await node.see('b'), 'Running ready other=running')
  assert.ok(
    (await node.events('a')).includes(
      `SandboxNotResponding: The shim of pod sandbox ${sandbox} does not respond, ` +
        'it will be killed with its containers.',
    ),
  )
})

test('a pod with restartPolicy Never whose shim hangs fails', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('a', { ...probed, restartPolicy: 'Never' })
  await node.advance(10)
  node.runtime.faults.hangShim(await sandboxOf(node))
  await node.advance(120)
  assert.equal(await node.see('a'), 'Failed side=Error:137 web=Error:137')
})

test('a deleted pod whose shim hangs disappears', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('a', { containers: [{ name: 'web', image: 'i' }] })
  node.runtime.faults.hangShim(await sandboxOf(node))
  await node.delete('a')
  await node.advance(120)
  assert.deepEqual([await node.see('a'), await node.runtimeState()], ['gone', '0/0'])
})

test('a completed pod whose shim hangs disappears when it is deleted', async t => {
  const node = await TestKubelet.start(t, { ...present, containers: { job: { exitAfterMs: 1_000 } } })
  await node.create('a', { restartPolicy: 'Never', containers: [{ name: 'job', image: 'i' }] })
  node.runtime.faults.hangShim(await sandboxOf(node))
  await node.advance(2)
  await node.delete('a')
  await node.advance(180)
  assert.deepEqual([await node.see('a'), await node.runtimeState()], ['gone', '0/0'])
})

test('a sandbox is not killed while it responds, however long a call takes', async t => {
  const execs = { slow: { afterMs: 100_000 } }
  const node = await TestKubelet.start(t, { ...present, containers: { web: { execs, stopMs: Infinity } } })
  const lifecycle = { postStart: { exec: { command: ['slow'] } } }
  const terminationGracePeriodSeconds = 100
  await node.create('a', {
    terminationGracePeriodSeconds,
    containers: [{ name: 'web', image: 'i', lifecycle }],
  })
  await node.advance(150)
  await node.delete('a')
  await node.advance(60)
  assert.equal(await node.see('a'), 'Running ready web=running')
  await node.advance(60)
  assert.equal(await node.see('a'), 'gone')
  assert.equal(killsOf(await node.events('a')), 0)
})

test('no sandbox is killed while the runtime as a whole does not respond', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('a', probed)
  await node.advance(10)
  node.runtime.faults.delay('all', Infinity)
  await node.advance(300)
  node.runtime.faults.clear()
  await node.advance(120)
  assert.equal(await node.see('a'), 'Running ready side=running web=running')
  assert.equal(killsOf(await node.events('a')), 0)
})

test('a deleted pod disappears although the runtime fails to remove it, which is done later', async t => {
  const node = await TestKubelet.start(t, present)
  await node.create('a', { containers: [{ name: 'web', image: 'i' }] })
  node.runtime.faults.fail('stopContainer', new CriError('failed', 'internal error'), Infinity)
  node.runtime.faults.fail('stopPodSandbox', new CriError('failed', 'internal error'), Infinity)
  await node.delete('a', 5)
  await node.advance(240)
  assert.equal(await node.see('a'), 'Running ready web=running')
  await node.advance(120)
  assert.deepEqual([await node.see('a'), await node.runtimeState()], ['gone', '1/1 web#0 running'])
  node.runtime.faults.clear()
  await node.advance(600)
  assert.equal(await node.runtimeState(), '0/0')
})
