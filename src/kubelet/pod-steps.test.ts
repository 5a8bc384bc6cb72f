import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodSpec } from '#/api/generated/core/v1.ts'
import type { Pass, Step } from '#/api/origin.ts'
import { secrets } from '#/api/generated/core/v1-resources.ts'
import { Simulation } from '#/platform/simulated.ts'
import { PodSteps, type PodStep } from './pod-steps.ts'
import { TestKubelet, type TestKubeletOptions } from './test-kubelet.ts'

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

test('PodSteps: the wait before a write is part of its pass only, and short waits are left out', async () => {
  const { steps, simulation, work } = start()
  await work('sandbox', 100)
  const wait = (durationMs: number): PodStep => {
    return { name: 'status', startedMs: simulation.host('node').clock.now() - durationMs, durationMs }
  }
  assert.equal(show(steps.begin('default/web', wait(60))), '[] 0: sandbox 0+100 status 40+60')
  assert.equal(show(steps.begin('default/web', wait(9))), '[] 0: sandbox 0+100')
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
  const work = all.slice(all.indexOf('init first')).filter(step => step !== 'relist' && step !== 'status')
  assert.deepEqual(work, ['init first', 'create web', 'start web'])
  const init = started.flatMap(({ steps }) => steps).find(({ name }) => name === 'init')
  assert.ok(init!.durationMs >= 3_000, `${init?.durationMs}`)
  for (const { queuedMs, startedMs } of started) assert.ok(queuedMs <= startedMs)
  const before = node.plane.passes.length
  await node.delete('p')
  await node.advance(60)
  const ended = node.plane.passes.slice(before)
  assert.equal(ended.at(-1)?.request, 'DELETE /api/v1/namespaces/default/pods/p')
  for (const step of ['kill web', 'teardown sandbox', 'teardown volumes'])
    assert.ok(stepsOf(ended).includes(step), `${step} in ${stepsOf(ended).join()}`)
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

/** What the kubelet waits for, by the steps of which one explains each wait. */
interface WaitCase {
  readonly name: string
  readonly options: TestKubeletOptions
  readonly spec: PodSpec
  readonly expected: readonly string[]
}

const container = { name: 'web', image: 'i', imagePullPolicy: 'IfNotPresent' }
const isPresent = { i: { isPresent: true } }

const waits: readonly WaitCase[] = [
  {
    name: 'the back-off of an image',
    options: { images: { i: { pullError: 'away', pullFailures: 1 } } },
    spec: { containers: [container] },
    expected: ['pull i', 'back-off i 1', 'back-off i 10', 'pull i', 'start web'],
  },
  {
    name: 'the back-off of a container that exits, and its runs',
    options: { images: isPresent, containers: { web: { exitAfterMs: 2_000, exitCode: 1 } } },
    spec: { containers: [container] },
    expected: ['start web', 'run web 2', 'start web', 'run web 2', 'back-off web 10', 'start web'],
  },
  {
    name: 'the run of a container that is expected to exit',
    options: { images: isPresent, containers: { web: { exitAfterMs: 90_000 } } },
    spec: { containers: [container], restartPolicy: 'Never' },
    expected: ['start web', 'run web 90'],
  },
  {
    name: 'a container that has run for long before it exits',
    options: { images: isPresent, containers: { web: { exitAfterMs: 90_000 } } },
    spec: { containers: [container] },
    expected: ['start web', 'start web'],
  },
  {
    name: 'a start that fails for the same reason again',
    options: { images: isPresent },
    spec: { containers: [{ ...container, envFrom: [{ secretRef: { name: 'late' } }] }] },
    expected: ['back-off web 60', 'start web'],
  },
  {
    name: 'a volume that lacks its secret',
    options: { images: isPresent },
    spec: {
      containers: [{ ...container, volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
      volumes: [{ name: 'v', secret: { secretName: 'late' } }],
    },
    expected: ['volumes v 60', 'start web'],
  },
]

for (const { name, options, spec, expected } of waits) {
  test(`the steps of a pod name what it waits for: ${name}`, async t => {
    const node = await TestKubelet.start(t, options)
    await node.create('p', spec)
    await node.advance(60)
    await node.plane.create(secrets, { metadata: { namespace: 'default', name: 'late' } })
    await node.advance(40)
    const passes = node.plane.passes.filter(({ key }) => key === 'default/p')
    const steps = passes.flatMap(({ startedMs, steps: own }) => {
      return own.map(step => ({ step, endedMs: startedMs + step.startMs + step.durationMs }))
    })
    const inOrder = steps.toSorted((left, right) => left.endedMs - right.endedMs)
    const shown = inOrder.flatMap(({ step }) => showWait(step))
    let from = 0
    for (const each of expected) {
      const index = shown.findIndex((text, at) => at >= from && text === each)
      assert.notEqual(index, -1, `${each} in ${shown.slice(from).join()}`)
      from = index + 1
    }
    const isRun = (text: string): boolean => text.startsWith('run')
    if (!expected.some(isRun)) assert.deepEqual(shown.filter(isRun), [])
  })
}

/** Waits in seconds, without their fractions, or in tens of seconds. */
function showWait({ name, detail = '', durationMs }: Step): readonly string[] {
  if (['pull', 'start'].includes(name)) return [`${name} ${detail}`]
  const isWait = ['back-off', 'run', 'volumes'].includes(name)
  const seconds = Math.floor(durationMs / 1_000)
  return isWait ? [`${name} ${detail} ${seconds < 10 ? seconds : Math.floor(seconds / 10) * 10}`] : []
}

test('the kill of a container contains its preStop hook', async t => {
  const node = await TestKubelet.start(t, {
    images: isPresent,
    containers: { web: { stopMs: 1_000, execs: { '*': { afterMs: 3_000 } } } },
  })
  const lifecycle = { preStop: { exec: { command: ['drain'] } } }
  await node.create('p', { containers: [{ ...container, lifecycle }] })
  await node.advance(10)
  await node.delete('p')
  await node.advance(30)
  const steps = node.plane.passes.flatMap(pass => pass.steps)
  const [kill, preStop] = ['kill', 'pre-stop'].map(name => steps.find(step => step.name === name))
  assert.deepEqual([kill?.detail, preStop?.detail], ['web', 'web'])
  assert.ok(preStop!.durationMs >= 3_000, `${preStop?.durationMs}`)
  assert.ok(kill!.durationMs >= 4_000, `${kill?.durationMs}`)
})
