import type { Origin, Pass } from '#/api/origin.ts'
import type { Hop, Segment } from '../trace.ts'
import { timeToleranceMs } from './clock-shifts.ts'

/** A pass that has hops already. */
export interface BegunPass {
  /** Steps that an earlier write of the pass has shown. */
  readonly shown: Set<string>
  readonly requests: Segment[]
  endedMs: number
}

interface PassView {
  readonly times: PassTimes
  readonly begun: BegunPass | undefined
  readonly parent: Hop | undefined
  /** The steps of all passes over the object: a pass may wait for one that a later pass reports. */
  readonly work: readonly Segment[]
  /** A later cause is not in the trace, so that the wait for it is not unexplained. */
  readonly hasOtherCause: boolean
}

/** Watch, queue, pass and steps; of a later write of the same pass only what is new. */
export function passSegments(pass: Pass, view: PassView): Segment[] {
  const { times, begun, work } = view
  const { startedMs, byMs } = times
  const steps = stepSegments(pass, startedMs)
    .map(step => cutAt(step, byMs))
    .filter(step => begun?.shown.has(stepKey(step)) !== true)
    .toSorted((left, right) => left.startedMs - right.startedMs)
  const lead = begun === undefined ? leadSegments(view) : []
  const restMs = begun === undefined ? startedMs : Math.min(Math.max(begun.endedMs, startedMs), byMs)
  const beginMs = Math.min(restMs, steps[0]?.startedMs ?? restMs)
  const whole: Segment = { kind: 'pass', name: 'pass', startedMs: beginMs, durationMs: byMs - beginMs }
  // Without steps nothing is known of the parts of a pass, so the whole is one part.
  const gaps = pass.steps.length === 0 ? [] : findGaps(whole, [...work, ...(begun?.requests ?? [])])
  const parts = [...steps, ...gaps].toSorted((left, right) => left.startedMs - right.startedMs)
  return [...lead, whole, ...parts]
}

export function stepSegments({ steps }: Pass, startedMs: number): Segment[] {
  return steps.map(({ name, detail, startMs, durationMs }) => ({
    kind: 'step',
    name,
    ...(detail && { detail }),
    startedMs: startedMs + Math.max(0, startMs),
    durationMs: Math.max(0, durationMs),
  }))
}

function cutAt(segment: Segment, endMs: number): Segment {
  const startedMs = Math.min(segment.startedMs, endMs)
  return { ...segment, startedMs, durationMs: Math.min(segment.durationMs, endMs - startedMs) }
}

function leadSegments({ times, parent, work, hasOtherCause }: PassView): Segment[] {
  const { queuedMs, startedMs } = times
  const queue: Segment = {
    kind: 'queue',
    name: 'queue',
    startedMs: queuedMs,
    durationMs: startedMs - queuedMs,
  }
  if (parent === undefined || parent.endedMs >= queuedMs) return [queue]
  const length = queuedMs - parent.endedMs
  const watch: Segment = { kind: 'watch', name: 'watch', startedMs: parent.endedMs, durationMs: length }
  const [gap] = hasOtherCause ? [] : findGaps(watch, work)
  return [gap ?? watch, queue]
}

/** The request and its stages. The last stage, the write to the store, ends when the write is visible. */
export function requestSegments(
  origin: Origin | undefined,
  receivedMs: number,
  visibleMs: number,
): Segment[] {
  const whole: Segment = {
    kind: 'request',
    name: 'request',
    startedMs: receivedMs,
    durationMs: visibleMs - receivedMs,
  }
  if (origin === undefined || origin.steps.length === 0) return [whole]
  const stages = origin.steps.map(({ name, detail, startMs, durationMs }, index): Segment => {
    const beginMs = Math.min(receivedMs + Math.max(0, startMs), visibleMs)
    const isStore = name === 'store' && index === origin.steps.length - 1
    const length = isStore ? visibleMs - beginMs : Math.max(0, Math.min(durationMs, visibleMs - beginMs))
    return { kind: 'stage', name, ...(detail && { detail }), startedMs: beginMs, durationMs: length }
  })
  const parts = [...stages, ...findGaps(whole, stages)]
  return [whole, ...parts.toSorted((left, right) => left.startedMs - right.startedMs)]
}

/** Durations of a step that goes on grow from write to write. */
export function stepKey({ name, detail = '', startedMs }: Segment): string {
  return `${name}|${detail}|${Math.round(startedMs)}`
}

interface PassTimes {
  readonly queuedMs: number
  readonly startedMs: number
  /** The end of the pass's own part. */
  readonly byMs: number
}

interface KnownTimes {
  readonly shiftMs: number
  /** When the cause was visible. */
  readonly earliestMs: number | undefined
  /** When the request of the pass was received, or the pass ended. */
  readonly byMs: number
  /** By the component's clock. */
  readonly isEnded: boolean
}

/** No duration is negative. */
export function passTimes(
  pass: Pass,
  { shiftMs, earliestMs = -Infinity, byMs, isEnded }: KnownTimes,
): PassTimes {
  const roundUp = (ms: number): number => (ms + timeToleranceMs >= earliestMs ? Math.max(ms, earliestMs) : ms)
  const endMs = isEnded ? Math.max(byMs + shiftMs, pass.startedMs + shiftMs) : byMs
  const startedMs = Math.min(roundUp(pass.startedMs + shiftMs), endMs)
  return { queuedMs: Math.min(roundUp(pass.queuedMs + shiftMs), startedMs), startedMs, byMs: endMs }
}

/** Unexplained time up to this is normal: timers, the event loop, the network. */
const gapMs = 50

/** The parts of a segment that none of the parts explains, if they are longer than `gapMs`. */
function findGaps(whole: Segment, parts: readonly Segment[]): readonly Segment[] {
  const wholeEndMs = whole.startedMs + whole.durationMs
  const gaps: Segment[] = []
  let explainedMs = whole.startedMs
  const addUntil = (untilMs: number): void => {
    const durationMs = untilMs - explainedMs
    if (durationMs > gapMs) gaps.push({ kind: 'gap', name: whole.kind, startedMs: explainedMs, durationMs })
  }
  const inside = parts.filter(part => {
    return part.startedMs < wholeEndMs && part.startedMs + part.durationMs > whole.startedMs
  })
  for (const { startedMs, durationMs } of inside.toSorted(
    (left, right) => left.startedMs - right.startedMs,
  )) {
    addUntil(Math.min(startedMs, wholeEndMs))
    explainedMs = Math.max(explainedMs, Math.min(startedMs + durationMs, wholeEndMs))
  }
  addUntil(wholeEndMs)
  return gaps
}
