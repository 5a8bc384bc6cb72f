import type { Container, ContainerStatus, Pod } from '#/api/generated/core/v1.ts'
import { parseTime } from '#/api/text/time.ts'
import { outcomeOfAnnotations, parseSimulatedCommand, type CommandStep } from '#/cri/simulated-command.ts'
import { containersOf } from '../pod-containers.ts'

/** One run of a simulated container, between two restarts. */
export interface ContainerRun {
  readonly pod: Pod
  readonly container: Container
  readonly startedMs: number
  /** While it runs, undefined. */
  readonly end?: { readonly finishedMs: number; readonly exitCode: number }
}

export interface SimulatedLogLine {
  readonly timeMs: number
  readonly stream: 'stdout' | 'stderr'
  /** Without the newline. */
  readonly text: string
  /** There is no newline after the text. */
  readonly isPartial: boolean
}

/** The run with this container ID, without `simulated://`: the current or the previous one of a container. */
export function findRun(pod: Pod, containerId: string): ContainerRun | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {}
  for (const status of [...containerStatuses, ...initContainerStatuses]) {
    const container = containersOf(pod).find(each => each.container.name === status.name)?.container
    const run = container && runOf(pod, container, { status, containerId: `simulated://${containerId}` })
    if (run !== undefined) return run
  }
  return undefined
}

function runOf(
  pod: Pod,
  container: Container,
  { status, containerId }: { readonly status: ContainerStatus; readonly containerId: string },
): ContainerRun | undefined {
  const { state, lastState } = status
  if (state?.running && status.containerID === containerId) {
    return { pod, container, startedMs: parseTime(state.running.startedAt ?? '') ?? 0 }
  }
  const terminated = [state?.terminated, lastState?.terminated].find(
    each => each?.containerID === containerId,
  )
  if (terminated === undefined) return undefined
  const { startedAt = '', finishedAt = '', exitCode } = terminated
  const end = { finishedMs: parseTime(finishedAt) ?? 0, exitCode }
  return { pod, container, startedMs: parseTime(startedAt) ?? 0, end }
}

/**
 * The log of a run: what its command prints, or its life cycle if that prints nothing. Lines are only added
 * in the course of a run. Those with a time in the future are yet to be written.
 */
export function planLog(run: ContainerRun): readonly SimulatedLogLine[] {
  const printed = printedLines(run)
  const lines = printed.length > 0 ? printed : lifeCycleLines(run)
  const { end } = run
  return end === undefined ? lines : lines.filter(({ timeMs }) => timeMs < end.finishedMs + second)
}

/** Times in a pod status are truncated to seconds. */
const second = 1_000

function printedLines({ pod, container, startedMs }: ContainerRun): readonly SimulatedLogLine[] {
  if (outcomeOfAnnotations(pod.metadata.annotations) !== undefined) return []
  const { command = [], args = [] } = container
  const steps = parseSimulatedCommand([...command, ...args]) ?? []
  let timeMs = startedMs
  return steps.flatMap(step => {
    if (step.do === 'wait') timeMs += step.ms
    return step.do === 'print' ? linesOf(step, timeMs) : []
  })
}

function linesOf(
  { stream, text }: Extract<CommandStep, { do: 'print' }>,
  timeMs: number,
): readonly SimulatedLogLine[] {
  const texts = text.split('\n')
  const rest = texts.pop() ?? ''
  const lines = texts.map(each => ({ timeMs, stream, text: each, isPartial: false }))
  return rest === '' ? lines : [...lines, { timeMs, stream, text: rest, isPartial: true }]
}

function lifeCycleLines({ container, startedMs, end }: ContainerRun): readonly SimulatedLogLine[] {
  const { name, image = '', lifecycle, readinessProbe } = container
  const line = (timeMs: number, text: string): SimulatedLogLine => {
    return { timeMs, stream: 'stdout', text, isPartial: false }
  }
  const probedMs = startedMs + (readinessProbe?.initialDelaySeconds ?? 0) * 1_000
  return [
    line(startedMs, `simulated container ${name} started, image ${image}`),
    ...(lifecycle?.postStart ? [line(startedMs, 'postStart hook completed')] : []),
    ...(readinessProbe ? [line(probedMs, 'readiness probe started')] : []),
    ...(end && lifecycle?.preStop ? [line(end.finishedMs, 'preStop hook completed')] : []),
    ...(end ? [line(end.finishedMs, `simulated container ${name} exited with code ${end.exitCode}`)] : []),
  ].toSorted((a, b) => a.timeMs - b.timeMs)
}
