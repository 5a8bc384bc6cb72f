import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, Pod, Probe } from '#/api/generated/core/v1.ts'
import { CriError, type ExecResult } from '#/cri/cri.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import { Probes, type RunningContainer } from './probes.ts'
import { kubeletPod } from './testdata/objects.ts'
import { KubeletMetrics } from './kubelet-metrics.ts'

type Answer = 'ok' | 'bad' | 'error' | 'late'

/** Containers with scripted answers, and a trace of probes and results. */
class World {
  readonly simulation = new Simulation({ seed: 1 })
  readonly platform = this.simulation.host('node')
  readonly events: string[] = []
  /** Answers by command; the last one repeats. */
  readonly answers: Record<string, Answer[]> = {}
  trace: string[] = []
  readonly probes: Probes
  #beganMs = 0

  constructor() {
    this.probes = new Probes({
      metrics: new KubeletMetrics().probes,
      platform: this.platform,
      runtime: { execSync: ({ command, timeoutMs }) => this.#exec(command, timeoutMs) },
      connectHttp: () => assert.fail('no probe is made by HTTP'),
      connectGrpc: () => assert.fail('no probe is made by gRPC'),
      recorder: { record: (_, { reason, message }) => void this.events.push(`${reason}: ${message}`) },
      onChange: () => {
        const { startup = '', liveness = '', readiness = '' } = this.probes.results('id')
        this.#note(`=${startup},${liveness},${readiness}`)
      },
    })
  }

  /** Runs a container for some time. The command of each probe is its name. */
  async run(
    container: Partial<Container>,
    seconds: number,
    more: Partial<RunningContainer> = {},
  ): Promise<string> {
    this.trace = []
    this.#beganMs = this.simulation.nowMs
    this.follow(container, {}, more)
    await this.simulation.advance(seconds * 1_000)
    return this.trace.join(' ')
  }

  follow(
    container: Partial<Container>,
    pod: Pod['metadata'] = {},
    more: Partial<RunningContainer> = {},
  ): void {
    const startedMs = this.platform.clock.now()
    this.probes.follow(podOf(container, pod), [
      { id: 'id', name: 'it', startedMs, address: '10.0.0.1', ...more },
    ])
  }

  #note(text: string): void {
    this.trace.push(`${(this.simulation.nowMs - this.#beganMs) / 1_000}${text}`)
  }

  async #exec([name = '']: readonly string[], timeoutMs: number): Promise<ExecResult> {
    this.#note(name)
    const answers = this.answers[name] ?? []
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    if (answer === 'error') throw new CriError('failed', 'no such command')
    if (answer === 'late') {
      await this.platform.clock.sleep(timeoutMs)
      throw new CriError('timeout', 'late')
    }
    const output = Buffer.from(answer === 'bad' ? 'not well' : '')
    return { stdout: output, stderr: new Uint8Array(), exitCode: answer === 'bad' ? 1 : 0 }
  }
}

function podOf(container: Partial<Container>, metadata: Pod['metadata'] = {}): KubeletPod {
  return {
    metadata: { name: 'pod', namespace: 'default', uid: 'u', ...metadata },
    spec: { containers: [{ name: 'it', image: 'it', ...container }] },
  }
}

function probe(command: string, more: Partial<Probe> = {}): Probe {
  return { exec: { command: [command] }, periodSeconds: 10, timeoutSeconds: 1, ...more }
}

test('probe results apply after their thresholds', async () => {
  const cases: readonly [given: Partial<Probe>, answers: Answer[], expected: string][] = [
    [{}, ['ok'], '0r 0=,,success 10r 20r'],
    [{ successThreshold: 2 }, ['ok'], '0r 10r 10=,,success 20r'],
    [{ failureThreshold: 2 }, ['bad'], '0r 10r 10=,,failure 20r'],
    [{}, ['bad', 'bad', 'ok'], '0r 10r 20r 20=,,success'],
    [
      { failureThreshold: 2, periodSeconds: 5 },
      ['ok', 'bad', 'ok', 'bad', 'bad'],
      '0r 0=,,success 5r 10r 15r 20r 20=,,failure 25r',
    ],
    [{ periodSeconds: 20, initialDelaySeconds: 3 }, ['ok'], '3r 3=,,success 23r'],
    [{ failureThreshold: 1 }, ['late', 'ok'], '0r 1=,,failure 10r 10=,,success 20r'],
    [{ failureThreshold: 1, timeoutSeconds: 15 }, ['late', 'ok'], '0r 15=,,failure 15r 15=,,success 25r'],
    [{ failureThreshold: 1 }, ['error', 'error', 'bad'], '0r 0r 0r 0=,,failure 10r 20r'],
    [{ failureThreshold: 1, periodSeconds: 20 }, ['error'], '0r 0r 0r 20r 20r 20r'],
  ]
  for (const [given, answers, expected] of cases) {
    const world = new World()
    world.answers['r'] = [...answers]
    assert.equal(await world.run({ readinessProbe: probe('r', given) }, 25), expected, JSON.stringify(given))
  }
})

test('a container that fails its liveness probe is not probed again', async () => {
  const world = new World()
  world.answers['l'] = ['ok', 'bad']
  const trace = await world.run({ livenessProbe: probe('l', { failureThreshold: 2 }) }, 600)
  assert.equal(trace, '0l 0=,success, 10l 20l 20=,failure,')
  assert.deepEqual(world.events, Array(2).fill('Unhealthy: Liveness probe failed: not well'))
  assert.ok(await world.simulation.settle(0), 'no timer is pending')
})

test('other probes wait for the startup probe', async () => {
  const world = new World()
  world.answers['s'] = ['bad', 'bad', 'bad', 'ok']
  world.answers['r'] = ['bad']
  const container = {
    startupProbe: probe('s', { failureThreshold: 30, periodSeconds: 1 }),
    livenessProbe: probe('l', { initialDelaySeconds: 5 }),
    readinessProbe: probe('r', { failureThreshold: 1 }),
  }
  const trace = await world.run(container, 14)
  assert.equal(trace, '0s 1s 2s 3s 3=success,, 3r 3=success,,failure 5l 5=success,success,failure 13r')
})

test('a failing startup probe kills the container', async () => {
  const world = new World()
  world.answers['s'] = ['bad']
  const container = { startupProbe: probe('s', { failureThreshold: 2 }), livenessProbe: probe('l') }
  assert.equal(await world.run(container, 100), '0s 10s 10=failure,,')
  assert.ok(await world.simulation.settle(0))
})

test('a restarted kubelet skips startup probes of started containers and spreads probes', async () => {
  const world = new World()
  await world.simulation.advance(100_000)
  const startedMs = world.platform.clock.now() - 200_000
  const container = { startupProbe: probe('s'), readinessProbe: probe('r') }
  const trace = await world.run(container, 10, { startedMs, hasStarted: true })
  const [asked = ''] = trace.split(' ')
  assert.match(trace, /^[0-9.]+r [0-9.]+=success,,success$/)
  assert.ok(Number.parseFloat(asked) > 0, 'some time within the period')
})

test('a replaced container is probed from the beginning', async () => {
  const world = new World()
  world.answers['r'] = ['ok']
  const container = { readinessProbe: probe('r') }
  await world.run(container, 25)
  assert.deepEqual(world.probes.results('id'), { readiness: 'success' })
  world.follow(container, {}, { id: 'next' })
  assert.deepEqual([world.probes.results('id'), world.probes.results('next')], [{}, {}])
  await world.simulation.advance(1)
  assert.deepEqual(world.probes.results('next'), { readiness: 'success' })
  world.probes.follow(podOf(container), [])
  assert.deepEqual(world.probes.results('next'), {})
  assert.ok(await world.simulation.settle(0))
})

test('a terminating pod runs readiness probes only', async () => {
  const world = new World()
  const container = {
    livenessProbe: probe('l', { failureThreshold: 1 }),
    readinessProbe: probe('r', { failureThreshold: 1 }),
  }
  await world.run(container, 5)
  world.answers['l'] = ['bad']
  world.answers['r'] = ['bad']
  world.trace = []
  world.follow(container, { deletionTimestamp: '2026-01-01T00:00:00Z' })
  await world.simulation.advance(6_000)
  assert.deepEqual(world.trace, ['10r', '10=,success,failure'])
  world.probes.forget('u')
  assert.deepEqual(world.probes.results('id'), {})
  assert.ok(await world.simulation.settle(0))
})

test('probe results of removed containers are dropped', async () => {
  const world = new World()
  world.answers['r'] = ['late']
  await world.run({ readinessProbe: probe('r', { timeoutSeconds: 10, failureThreshold: 1 }) }, 5)
  world.probes.follow(podOf({}), [])
  await world.simulation.advance(60_000)
  assert.deepEqual([world.trace, world.events], [['0r'], []])
})

test('probe failure messages name the cause', async () => {
  const world = new World()
  world.answers['r'] = ['late', 'error', 'error', 'error', 'bad']
  await world.run({ readinessProbe: probe('r') }, 25)
  assert.deepEqual(world.events, [
    'Unhealthy: Readiness probe failed: command timed out: "r" timed out after 1s',
    'Unhealthy: Readiness probe errored and resulted in unknown state: no such command',
    'Unhealthy: Readiness probe failed: not well',
  ])
})

test('a probe command is expanded with the environment of the container', async () => {
  const world = new World()
  const env = [
    { name: 'A', value: 'x' },
    { name: 'B', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
  ]
  await world.run({ env, readinessProbe: probe('$(A)-$(B)-$(C)-$$(A)') }, 1)
  assert.deepEqual(world.trace[0], '0x--$(C)-$(A)')
})

test('sidecars are probed, init containers are not', () => {
  const world = new World()
  const readinessProbe = probe('r')
  const pod = kubeletPod({
    metadata: { uid: 'u' },
    spec: {
      initContainers: [
        { name: 'init', image: 'it', readinessProbe },
        { name: 'sidecar', image: 'it', restartPolicy: 'Always', readinessProbe },
      ],
      containers: [{ name: 'plain', image: 'it' }],
    },
  })
  const running = ['init', 'sidecar', 'plain', 'unknown'].map(name => {
    return { id: name, name, startedMs: world.platform.clock.now(), address: '' }
  })
  world.probes.follow(pod, running)
  return world.simulation.advance(10).then(() => {
    assert.deepEqual(
      world.trace.filter(text => text.endsWith('r')),
      ['0r'],
    )
    assert.deepEqual(world.probes.results('sidecar'), { readiness: 'success' })
  })
})
