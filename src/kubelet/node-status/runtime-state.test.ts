import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CriError, type RuntimeCondition, type RuntimeStatus } from '#/cri/cri.ts'
import { Simulation } from '#/platform/simulated.ts'
import { RuntimeState } from './runtime-state.ts'

const good: RuntimeCondition = { isReady: true, reason: '', message: '' }
const noNetwork: RuntimeCondition = {
  isReady: false,
  reason: 'NetworkPluginNotReady',
  message: 'Network plugin returns error: cni plugin not initialized',
}
const ready: RuntimeStatus = { runtime: good, network: good, handlers: [] }

test('the runtime state has the reason why pods cannot run', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { signal } = new AbortController()
  let answer: RuntimeStatus | undefined
  const runtime = {
    async status(): Promise<RuntimeStatus> {
      if (answer === undefined) throw new CriError('unavailable', 'it does not answer')
      return answer
    },
    version: async () => ({ name: 'containerd', version: '1.6.20' }),
  }
  const watch = new RuntimeState(runtime, simulation.clock)
  const problems = async (status: RuntimeStatus | undefined): Promise<readonly string[]> => {
    answer = status
    await watch.update(signal)
    return watch.problems()
  }
  assert.deepEqual(await problems(undefined), ['container runtime status check may not have completed yet'])
  assert.equal(watch.version, undefined)
  assert.deepEqual(await problems({ ...ready, network: noNetwork }), [
    'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady ' +
      'message:Network plugin returns error: cni plugin not initialized',
  ])
  assert.deepEqual(await problems(ready), [])
  assert.deepEqual(watch.version, { name: 'containerd', version: '1.6.20' })
  const broken = { isReady: false, reason: 'Broken', message: 'no shim' }
  assert.deepEqual(await problems({ ...ready, runtime: broken }), [
    'container runtime not ready: RuntimeReady=false reason:Broken message:no shim',
  ])
  assert.deepEqual(await problems(ready), [])
  await simulation.advance(29_000)
  assert.deepEqual(await problems(undefined), [], 'for a while it is taken for what it was')
  await simulation.advance(1_000)
  assert.deepEqual(await problems(undefined), ['container runtime is down'])
  assert.deepEqual(await problems(ready), [])
})
