import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSpec } from '#/api/generated/core/v1.ts'
import { TestKubelet } from './test-kubelet.ts'

const local = { image: 'i', imagePullPolicy: 'IfNotPresent' }
const options = {
  images: { i: { isPresent: true } },
  containers: { init: { exitAfterMs: 200 }, side: { stopMs: 100 }, web: { stopMs: 100 } },
}
const spec: PodSpec = {
  volumes: [{ name: 'data', emptyDir: {} }],
  initContainers: [
    { ...local, name: 'init' },
    { ...local, name: 'side', restartPolicy: 'Always' },
  ],
  containers: [{ ...local, name: 'web', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
}

/** More calls than starting and removing the pod takes, including background work. */
const callsMax = 400

test('a kubelet that crashes at any runtime call starts the pod exactly once', async t => {
  let deaths = 0
  for (let calls = 0; calls < callsMax; calls++) {
    const node = await TestKubelet.start(t, options)
    node.dieAfter(calls)
    await node.plane.run(node.start('p', spec))
    await node.advance(5)
    if (!node.isDead) {
      await node.stop()
      break
    }
    deaths++
    await node.stop()
    node.begin()
    await node.advance(30)
    assert.equal(
      await node.see('p'),
      'Running ready init=Completed:0 side=running web=running',
      `after ${calls} calls`,
    )
    const state = await node.runtimeState()
    assert.match(state, /^1\/[12] /, `after ${calls} calls: ${state}`)
    assert.equal(state.match(/web#\d running/g)?.length, 1, `after ${calls} calls: ${state}`)
    await removed(node, `after ${calls} calls`)
    await node.stop()
  }
  assert.ok(deaths > 20 && deaths < callsMax, `${deaths} deaths`)
})

test('a kubelet that crashes at any runtime call removes a deleted pod completely', async t => {
  let deaths = 0
  for (let calls = 0; calls < callsMax; calls++) {
    const node = await TestKubelet.start(t, options)
    await node.create('p', spec)
    await node.advance(2)
    node.dieAfter(calls)
    await node.delete('p')
    await node.advance(5)
    if (!node.isDead) {
      await node.stop()
      break
    }
    deaths++
    await node.stop()
    node.begin()
    await node.advance(40)
    assert.equal(await node.see('p'), 'gone', `after ${calls} calls`)
    assert.equal(await node.runtimeState(), '0/0', `after ${calls} calls`)
    await node.stop()
  }
  assert.ok(deaths > 10 && deaths < callsMax, `${deaths} deaths`)
})

async function removed(node: TestKubelet, when: string): Promise<void> {
  await node.delete('p')
  await node.advance(40)
  assert.equal(await node.see('p'), 'gone', when)
  assert.equal(await node.runtimeState(), '0/0', when)
  for (const folder of ['/node/pods', '/node/logs/pods']) {
    assert.deepEqual(await node.plane.run(node.platform.files.list(folder)), [], `${when}: ${folder}`)
  }
}
