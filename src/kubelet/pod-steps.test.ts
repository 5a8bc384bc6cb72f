import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Pass } from '#/api/origin.ts'
import { Simulation } from '#/platform/simulated.ts'
import { PodSteps } from './pod-steps.ts'
import { TestKubelet } from './test-kubelet.ts'

function start(): {
  readonly steps: PodSteps
  readonly simulation: Simulation
  readonly work: (name: string, ms: number) => Promise<void>
} {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('node')
  const steps = new PodSteps({ clock, node: 'n1' })
  const work = (name: string, ms: number): Promise<void> => {
    return simulation.run(steps.run(name, 'web', () => clock.sleep(ms)))
  }
  return { steps, simulation, work }
}

/** Times relative to the start of the pass. */
function show({ causes, queuedMs, startedMs, steps }: Pass): string {
  const spans = steps.map(({ name, startMs, durationMs }) => ` ${name} ${startMs}+${durationMs}`)
  return `[${causes.join()}] ${queuedMs - startedMs}:${spans.join('')}`
}

test('PodSteps: a write carries what was done since the last one, and the versions that arrived', async () => {
  const { steps, simulation, work } = start()
  steps.receive('7')
  steps.receive('7')
  await simulation.advance(5)
  steps.beginSync(5)
  await work('sandbox', 100)
  steps.receive('9')
  assert.equal(show(steps.begin('default/web')), '[7,9] -5: sandbox 0+100')
  await work('create', 10)
  steps.end()
  assert.equal(show(steps.begin('default/web')), '[9] 0: create 0+10')
})

test('PodSteps: a failed write leaves the steps for the next one', async () => {
  const { steps, work } = start()
  steps.receive('7')
  await work('sandbox', 100)
  const first = show(steps.begin('default/web'))
  await work('create', 10)
  assert.equal(first, '[7] 0: sandbox 0+100')
  assert.equal(show(steps.begin('default/web')), '[7] 0: sandbox 0+100 create 100+10')
})

test('PodSteps: after settle, the last version is the cause, and the sync the start', async () => {
  const { steps, simulation, work } = start()
  steps.receive('7')
  await work('volumes', 10)
  steps.settle()
  await simulation.advance(3_600_000)
  steps.beginSync(20)
  await simulation.advance(30)
  assert.equal(show(steps.begin('default/web')), '[7] -20:')
})

test('PodSteps: failed work counts, and the latest steps and versions are kept', async () => {
  const { steps, simulation } = start()
  const failing = steps.run('pull', 'image', () => Promise.reject(new Error('broken')))
  await assert.rejects(simulation.run(failing), /broken/)
  for (let step = 0; step < 100; step++) {
    steps.add({ name: `${step}`, startedMs: 0, durationMs: 1 })
    steps.receive(`${step}`)
  }
  const pass = steps.begin('default/web')
  assert.deepEqual([pass.steps.length, pass.steps[0]?.name], [32, '68'])
  assert.deepEqual(pass.causes, [92, 93, 94, 95, 96, 97, 98, 99])
})

test('the kubelet writes statuses and deletes pods with the passes of its workers', async t => {
  const node = await TestKubelet.start(t, {
    images: { i: { pullMs: 2_000 } },
    containers: { first: { exitAfterMs: 3_000 } },
    protectPod: async () => undefined,
  })
  const created = await node.plane.run(
    node.start('p', {
      initContainers: [{ name: 'first', image: 'i' }],
      containers: [{ name: 'web', image: 'i', imagePullPolicy: 'IfNotPresent' }],
    }),
  )
  await node.advance(30)
  const started = node.plane.passes.filter(({ key }) => key === 'default/p')
  const [write] = started
  assert.deepEqual([write?.component, write?.node], ['kubelet', 'n1'])
  assert.equal(write?.request, 'PATCH /api/v1/namespaces/default/pods/p/status')
  assert.deepEqual(write?.causes, [Number(created.metadata.resourceVersion)])
  const stepsOf = (passes: readonly Pass[]): readonly string[] => {
    return passes.flatMap(({ steps }) => steps.map(({ name, detail = '' }) => `${name} ${detail}`.trim()))
  }
  const all = stepsOf(started)
  for (const step of ['admit', 'cgroup', 'sandbox', 'volumes', 'pull i', 'create first', 'init first'])
    assert.ok(all.includes(step), `${step} in ${all.join()}`)
  assert.deepEqual(all.slice(all.indexOf('init first')), ['init first', 'create web', 'start web'])
  const init = started.flatMap(({ steps }) => steps).find(({ name }) => name === 'init')
  assert.ok(init!.durationMs >= 3_000, `${init?.durationMs}`)
  for (const { queuedMs, startedMs } of started) assert.ok(queuedMs <= startedMs)
  const before = node.plane.passes.length
  await node.delete('p')
  await node.advance(60)
  const ended = node.plane.passes.slice(before)
  assert.equal(ended.at(-1)?.request, 'DELETE /api/v1/namespaces/default/pods/p')
  assert.deepEqual(new Set(stepsOf(ended)), new Set(['kill web', 'teardown sandbox', 'teardown volumes']))
})

test('the pass of a readiness change has the time from the start of the container to the first success', async t => {
  const node = await TestKubelet.start(t, { images: { i: { isPresent: true } } })
  const readinessProbe = { exec: { command: ['true'] }, initialDelaySeconds: 5 }
  const web = { name: 'web', image: 'i', imagePullPolicy: 'IfNotPresent', readinessProbe }
  await node.create('p', { containers: [web] })
  await node.advance(60)
  const steps = node.plane.passes.flatMap(pass => pass.steps)
  const [probe, ...others] = steps.filter(({ name }) => name === 'readiness-probe')
  assert.deepEqual([probe?.detail, others], ['web', []])
  assert.ok(probe!.durationMs >= 5_000, `${probe?.durationMs}`)
})
