import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, Pod } from '#/api/generated/core/v1.ts'
import { findRun, planLog, type ContainerRun } from './plan-log.ts'

const startedMs = Date.UTC(2026, 0, 1)

function podOf(container: Partial<Container>, annotations: Readonly<Record<string, string>> = {}): Pod {
  const containers = [{ name: 'web', image: 'nginx', ...container }]
  return { metadata: { name: 'web-0', annotations }, spec: { containers } }
}

/** Lines as `SECONDS TEXT`; stderr is marked with `!`, a line without newline with `~`. */
function show(run: ContainerRun): readonly string[] {
  return planLog(run).map(({ timeMs, stream, text, isPartial }) => {
    const marks = `${stream === 'stderr' ? '!' : ''}${isPartial ? '~' : ''}`
    return `${(timeMs - startedMs) / 1_000}${marks} ${text}`
  })
}

interface Case {
  readonly name: string
  readonly container?: Partial<Container>
  readonly annotations?: Readonly<Record<string, string>>
  /** Seconds after the start and exit code. */
  readonly end?: readonly [seconds: number, exitCode: number]
  readonly lines: readonly string[]
}

const exec = { exec: { command: ['x'] } }

const cases: readonly Case[] = [
  {
    name: 'a running container without output has started',
    lines: ['0 simulated container web started, image nginx'],
  },
  {
    name: 'hooks, the readiness probe and the exit are logged at their times',
    container: {
      lifecycle: { postStart: exec, preStop: exec },
      readinessProbe: { initialDelaySeconds: 5 },
    },
    end: [20, 143],
    lines: [
      '0 simulated container web started, image nginx',
      '0 postStart hook completed',
      '5 readiness probe started',
      '20 preStop hook completed',
      '20 simulated container web exited with code 143',
    ],
  },
  {
    name: 'a probe that would begin after the exit is not logged',
    container: { readinessProbe: { initialDelaySeconds: 60 } },
    end: [20, 0],
    lines: [
      '0 simulated container web started, image nginx',
      '20 simulated container web exited with code 0',
    ],
  },
  {
    name: 'the output of a command is its log',
    container: { command: ['sh', '-c', 'echo a; sleep 2; echo b >&2; echo -n c'] },
    lines: ['0 a', '2! b', '2~ c'],
  },
  {
    name: 'a container that is stopped prints no more',
    container: { command: ['sh', '-c'], args: ['echo a; sleep 20; echo b'] },
    end: [2, 143],
    lines: ['0 a'],
  },
  {
    name: 'output within the second of the exit is complete',
    container: { command: ['sh', '-c', 'sleep 0.5; echo a'] },
    end: [0, 0],
    lines: ['0.5 a'],
  },
  {
    name: 'annotations replace the command and its output',
    container: { command: ['echo', 'a'] },
    annotations: { 'simulated.k8ts.io/exit-after': '5s' },
    lines: ['0 simulated container web started, image nginx'],
  },
]

for (const { name, container = {}, annotations, end, lines } of cases) {
  test(`planLog: ${name}`, () => {
    const pod = podOf(container, annotations)
    const run = { pod, container: pod.spec!.containers[0]!, startedMs }
    const [seconds = 0, exitCode = 0] = end ?? []
    const ended = { ...run, end: { finishedMs: startedMs + seconds * 1_000, exitCode } }
    assert.deepEqual(show(end ? ended : run), lines)
  })
}

test('findRun: the current and the previous run of a container are found by their ids', () => {
  const terminated = (id: string, exitCode: number) => ({
    terminated: {
      exitCode,
      containerID: `simulated://u/web/${id}`,
      startedAt: '2026-01-01T00:00:00Z',
      finishedAt: '2026-01-01T00:00:07Z',
    },
  })
  const withState = (state: object): Pod => {
    const status = { name: 'web', image: '', imageID: '', ready: true, restartCount: 2 }
    const containerStatuses = [
      { ...status, containerID: 'simulated://u/web/2', state, lastState: terminated('1', 3) },
    ]
    return { ...podOf({}), status: { containerStatuses } }
  }
  const check = (state: object, id: string, expected: string): void => {
    const run = findRun(withState(state), id)
    const end = run?.end && `${run.end.finishedMs - startedMs} ${run.end.exitCode}`
    const shown = run && `${run.container.name} ${run.startedMs - startedMs}..${end ?? ''}`
    assert.equal(shown ?? 'none', expected)
  }
  const running = { running: { startedAt: '2026-01-01T00:00:10Z' } }
  check(running, 'u/web/2', 'web 10000..')
  check(running, 'u/web/1', 'web 0..7000 3')
  check(running, 'u/web/0', 'none')
  check(terminated('2', 0), 'u/web/2', 'web 0..7000 0')
  check({ waiting: { reason: 'CrashLoopBackOff' } }, 'u/web/2', 'none')
})
