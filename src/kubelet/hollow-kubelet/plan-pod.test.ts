import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, ContainerStatus, Pod, PodSpec, PodStatus } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { stored } from '../testdata/objects.ts'
import { planPod, stoppedPod, answersProbes, scriptOf } from './plan-pod.ts'

const startMs = Date.UTC(2026, 0, 1)

interface Case {
  readonly name: string
  readonly spec?: Partial<PodSpec>
  readonly annotations?: Readonly<Record<string, string>>
  /** Seconds since the start, the expected pod, and the expected requeue delay. */
  readonly steps: readonly (readonly [seconds: number, shown: string, againAfterSeconds?: number])[]
}

const cases: readonly Case[] = [
  {
    name: 'a pod runs and is ready at once',
    steps: [
      [0, 'Running ready web=running'],
      [1_000_000, 'Running ready web=running'],
    ],
  },
  {
    name: 'a pod with a readiness probe is ready after the initial delay',
    spec: { containers: [container('web', { readinessProbe: { initialDelaySeconds: 15 } })] },
    steps: [
      [0, 'Running unready web=running!', 15],
      [14, 'Running unready web=running!', 1],
      [15, 'Running ready web=running'],
    ],
  },
  {
    name: 'with restartPolicy Never a completed pod has succeeded',
    spec: { restartPolicy: 'Never', containers: [container('job', { command: ['sleep', '30'] })] },
    steps: [
      [0, 'Running ready job=running', 30],
      [30, 'Succeeded unready job=ended(0)'],
      [60, 'Succeeded unready job=ended(0)'],
    ],
  },
  {
    name: 'a pod fails when all containers have exited and one failed',
    spec: {
      restartPolicy: 'Never',
      containers: [container('good', { command: ['sleep', '5'] }), container('bad', { command: ['false'] })],
    },
    steps: [
      [0, 'Running unready good=running bad=ended(1)', 5],
      [5, 'Failed unready good=ended(0) bad=ended(1)'],
    ],
  },
  {
    name: 'with restartPolicy OnFailure only failed containers are restarted',
    spec: {
      restartPolicy: 'OnFailure',
      containers: [container('good', { command: ['true'] }), container('bad', { command: ['false'] })],
    },
    steps: [[0, 'Running unready good=ended(0) bad=CrashLoopBackOff', 0.001]],
  },
  {
    name: 'a crashing container is restarted with exponential backoff',
    annotations: { 'simulated.k8ts.io/exit-code': '3', 'simulated.k8ts.io/exit-after': '1s' },
    steps: [
      [0, 'Running ready web=running', 1],
      [1, 'Running unready web=CrashLoopBackOff', 0.001],
      [2, 'Running ready web=running*1', 1],
      [3, 'Running unready web=CrashLoopBackOff*1', 10],
      [12, 'Running unready web=CrashLoopBackOff*1', 1],
      [13, 'Running ready web=running*2', 1],
      [14, 'Running unready web=CrashLoopBackOff*2', 20],
      [34, 'Running ready web=running*3', 1],
      [35, 'Running unready web=CrashLoopBackOff*3', 40],
    ],
  },
  {
    name: 'the backoff is reset after ten minutes of running',
    annotations: { 'simulated.k8ts.io/exit-after': '10m' },
    steps: [
      [0, 'Running ready web=running', 600],
      [600, 'Running unready web=CrashLoopBackOff', 0.001],
      [601, 'Running ready web=running*1', 600],
      [1_201, 'Running unready web=CrashLoopBackOff*1', 0.001],
    ],
  },
  {
    name: 'init containers run in order before the containers',
    spec: {
      initContainers: [container('first', { command: ['sleep', '2'] }), container('second')],
      containers: [container('web')],
    },
    steps: [
      [0, 'Pending unready first=running second=PodInitializing web=PodInitializing', 2],
      [2, 'Running ready first=ended(0) second=ended(0) web=running'],
    ],
  },
  {
    name: 'an init container with an unknown command ends',
    spec: { initContainers: [container('set-up', { command: ['migrate'] })] },
    steps: [
      [0, 'Pending unready set-up=running web=PodInitializing', 1],
      [1, 'Running ready set-up=ended(0) web=running'],
    ],
  },
  {
    name: 'a failed init container is restarted with backoff',
    spec: { initContainers: [container('set-up', { command: ['false'] })] },
    steps: [
      [0, 'Pending unready set-up=CrashLoopBackOff web=PodInitializing', 0.001],
      [1, 'Pending unready set-up=CrashLoopBackOff*1 web=PodInitializing', 10],
    ],
  },
  {
    name: 'with restartPolicy Never a failed init container fails the pod',
    spec: { restartPolicy: 'Never', initContainers: [container('set-up', { command: ['false'] })] },
    steps: [[0, 'Failed unready set-up=ended(1) web=PodInitializing']],
  },
  {
    name: 'a sidecar runs beside the containers and ends after them',
    spec: {
      restartPolicy: 'Never',
      initContainers: [container('proxy', { restartPolicy: 'Always' })],
      containers: [container('job', { command: ['sleep', '5'] })],
    },
    steps: [
      [0, 'Running ready proxy=running job=running', 5],
      [5, 'Succeeded unready proxy=ended(0) job=ended(0)'],
    ],
  },
  {
    name: 'a pod with the annotation ready=false is not ready',
    annotations: { 'simulated.k8ts.io/ready': 'false' },
    steps: [[0, 'Running unready web=running!']],
  },
  {
    name: 'an unmet readiness gate keeps a pod unready',
    spec: { readinessGates: [{ conditionType: 'example.com/open' }] },
    steps: [[0, 'Running unready web=running']],
  },
]

for (const { name, spec, annotations, steps } of cases) {
  test(`planPod: ${name}`, () => {
    const pod = podOf(spec, annotations)
    let status: PodStatus = {}
    for (const [seconds, shown, againAfterSeconds] of steps) {
      const planned = plan({ ...pod, status }, seconds)
      const { requeueAfterMs } = planned
      status = planned.status
      assert.equal(show({ metadata: {}, status }), shown, `after ${seconds} s`)
      assert.equal(requeueAfterMs === undefined ? undefined : requeueAfterMs / 1_000, againAfterSeconds)
    }
  })
}

test('planPod: readiness follows the annotation and the gates of a running pod', () => {
  const pod = podOf({ readinessGates: [{ conditionType: 'example.com/open' }] })
  const { status } = plan(pod, 0)
  const conditions = [{ type: 'example.com/open', status: 'True' }]
  const opened = { ...pod, status: { ...status, conditions: [...status.conditions!, ...conditions] } }
  const ready = { ...opened, status: plan(opened, 1).status }
  assert.equal(show(ready), 'Running ready web=running')
  const annotated = podOf(ready.spec, { 'simulated.k8ts.io/ready': 'false' })
  const unready = { ...annotated, status: plan({ ...annotated, status: ready.status }, 2).status }
  assert.equal(show(unready), 'Running unready web=running!')
  const again = { ...ready, status: plan({ ...ready, status: unready.status }, 3).status }
  assert.equal(show(again), 'Running ready web=running')
  assert.equal(transition(again), '2026-01-01T00:00:03Z')
})

test('planPod: planning again without a change returns no action', () => {
  const pod = podOf()
  const { status } = plan(pod, 0)
  assert.deepEqual(plan({ ...pod, status }, 60).status, status)
})

test("planPod: a crash loop has Kubernetes' message", () => {
  const pod = podOf({}, { 'simulated.k8ts.io/exit-code': '1' })
  const crashed = { ...pod, status: plan(pod, 0).status }
  const { status } = plan(crashed, 1)
  const message = status.containerStatuses?.[0]?.state?.waiting?.message
  assert.equal(message, 'back-off 10s restarting failed container=web pod=web-0_default(u1)')
})

test('stoppedPod: running containers end by a signal, exited ones stay unchanged', () => {
  const check = (spec: Partial<PodSpec>, shown: string): void => {
    const pod = podOf(spec)
    const stopped = stoppedPod({ ...pod, status: plan(pod, 0).status }, startMs + 1_000)
    assert.equal(show(stopped), shown)
  }
  check({}, 'Failed unready web=ended(143)')
  check(
    { containers: [container('web'), container('job', { command: ['true'] })], restartPolicy: 'Never' },
    'Failed unready web=ended(143) job=ended(0)',
  )
  check(
    { initContainers: [container('proxy', { restartPolicy: 'Always' })] },
    'Failed unready proxy=ended(143) web=ended(143)',
  )
})

function container(name: string, more: Partial<Container> = {}): Container {
  return { name, image: 'image', ...more }
}

function podOf(spec: Partial<PodSpec> = {}, annotations: Readonly<Record<string, string>> = {}): Stored<Pod> {
  return stored({
    metadata: { namespace: 'default', name: 'web-0', uid: 'u1', annotations },
    spec: { restartPolicy: 'Always', containers: [container('web')], ...spec },
  })
}

function plan(pod: Stored<Pod>, seconds: number): ReturnType<typeof planPod> {
  return planPod(pod, { nowMs: startMs + seconds * 1_000, hostIp: '172.18.0.2', podIp: '10.64.0.2' })
}

/**
 * Formats phase, readiness and each container with its restart count; `!` marks a running container that is
 * not ready.
 */
function show({ status }: Pod): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True'
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  return [status?.phase, ready ? 'ready' : 'unready', ...containers.map(showContainer)].join(' ')
}

function showContainer({ name, state, ready, restartCount }: ContainerStatus): string {
  const { running, waiting, terminated } = state ?? {}
  const shown = running ? `running${ready ? '' : '!'}` : (waiting?.reason ?? `ended(${terminated?.exitCode})`)
  return `${name}=${shown}${restartCount > 0 ? `*${restartCount}` : ''}`
}

function transition({ status }: Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime
}

/** The expected script is `CODE after MILLISECONDS` or `forever`. */
function check(pod: Partial<Pod>, container: Partial<Container>, expected: string): void {
  const script = scriptOf({ metadata: {}, ...pod }, { name: 'it', ...container })
  const shown = script === 'forever' ? script : `${script.exitCode} after ${script.afterMs}`
  assert.equal(shown, expected, JSON.stringify([pod, container]))
}

const never = { spec: { restartPolicy: 'Never', containers: [] } }
const always = { spec: { restartPolicy: 'Always', containers: [] } }

test('a hollow command sets the run time and the exit code of its container', () => {
  const cases: Readonly<Record<string, string>> = {
    'true': '0 after 0',
    '/bin/false': '1 after 0',
    'sleep 3': '0 after 3000',
    '/usr/bin/sleep 0.5': '0 after 500',
    'sleep 2m': '0 after 120000',
    'sleep infinity': 'forever',
    'nginx -g daemon-off': 'forever',
    'echo hello': '0 after 0',
  }
  for (const [command, expected] of Object.entries(cases)) {
    check(always, { command: command.split(' ') }, expected)
    const [first = '', ...args] = command.split(' ')
    check(always, { command: [first], args }, expected)
  }
})

test('a hollow shell script sets the run time and the exit code of its container', () => {
  const cases: Readonly<Record<string, string>> = {
    'exit 7': '7 after 0',
    'sleep 1; exit 3': '3 after 1000',
    'sleep 1 && sleep 2 && false': '1 after 3000',
    'echo hello\nsleep 1': '0 after 1000',
    'exit 256': '0 after 0',
    'exit -1': '255 after 0',
    'exit nonsense': '0 after 0',
    'false; exit': '1 after 0',
    'while true; do sleep 1; done': 'forever',
    '': 'forever',
  }
  for (const [text, expected] of Object.entries(cases)) {
    check(always, { command: ['sh', '-c', text] }, expected)
    check(always, { command: ['/bin/bash', '-ec'], args: [text] }, expected)
  }
})

test('a hollow container without a script exits only in pods that must complete', () => {
  check(always, {}, 'forever')
  check({}, {}, 'forever')
  check(never, {}, '0 after 1000')
  check(never, { command: ['make'] }, '0 after 1000')
  check({ spec: { restartPolicy: 'OnFailure', containers: [] } }, {}, '0 after 1000')
})

test('pod annotations win over the commands of hollow containers', () => {
  const annotated = (code?: string, after?: string): Partial<Pod> => {
    return {
      ...always,
      metadata: {
        annotations: {
          ...(code !== undefined && { 'simulated.k8ts.io/exit-code': code }),
          ...(after !== undefined && { 'simulated.k8ts.io/exit-after': after }),
        },
      },
    }
  }
  const container = { command: ['sleep', 'infinity'] }
  check(annotated('2'), container, '2 after 0')
  check(annotated(undefined, '90s'), container, '0 after 90000')
  check(annotated('1', '1h'), container, '1 after 3600000')
  check(annotated('nonsense', 'nonsense'), container, '0 after 0')
  check(annotated('-1'), container, '255 after 0')
})

test('parsing a long hollow command takes linear time', () => {
  const text = `${'sleep 0;'.repeat(50_000)}exit 4`
  check(always, { command: ['sh', '-c', text] }, '4 after 0')
  check(always, { command: ['sh', '-c', `${' '.repeat(1_000_000)}x`] }, 'forever')
})

test('a hollow pod is unready only with the annotation value false', () => {
  const answers = (value?: string): boolean => {
    return answersProbes({
      metadata: { annotations: value === undefined ? {} : { 'simulated.k8ts.io/ready': value } },
    })
  }
  assert.deepEqual([undefined, 'true', '', 'no', 'false'].map(answers), [true, true, true, true, false])
  assert.equal(answersProbes({ metadata: {} }), true)
})
