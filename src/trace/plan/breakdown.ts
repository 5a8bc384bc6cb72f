import type { Hop, Segment, TimeShare } from '../trace.ts'

/**
 * Where the time went, from the start of the root to the end of the last hop, along the chain of causes that the last
 * hop had. Of segments that overlap, the one that ends last counts: it is the one that was waited for.
 */
export function planBreakdown(hops: readonly Hop[]): readonly TimeShare[] {
  const first = hops[0]
  const last = hops.reduce(
    (latest, hop) => (latest === undefined || hop.endedMs > latest.endedMs ? hop : latest),
    first,
  )
  if (first === undefined || last === undefined) return []
  const totalMs = last.endedMs - first.startedMs
  if (totalMs <= 0) return []
  const durations = new Map<string, number>()
  let explainedMs = 0
  for (const time of coverTime(criticalPath(hops, last), {
    startedMs: first.startedMs,
    endedMs: last.endedMs,
  })) {
    const durationMs = time.endedMs - time.startedMs
    explainedMs += durationMs
    durations.set(time.name, (durations.get(time.name) ?? 0) + durationMs)
  }
  const otherMs = totalMs - explainedMs
  if (otherMs > totalMs / 1_000) durations.set('other', (durations.get('other') ?? 0) + otherMs)
  return [...durations]
    .map(([name, durationMs]) => ({ name, durationMs, share: durationMs / totalMs }))
    .toSorted((left, right) => right.durationMs - left.durationMs)
}

/** The hop, its cause, the cause of that, and the earlier writes of the passes of these. */
function criticalPath(hops: readonly Hop[], last: Hop): ReadonlySet<Hop> {
  const byId = new Map(hops.map(hop => [hop.id, hop]))
  const byPass = Map.groupBy(hops, ({ passId }) => passId)
  const path = new Set<Hop>()
  for (
    let hop: Hop | undefined = last;
    hop !== undefined && !path.has(hop);
    hop = byId.get(hop.parent ?? '')
  ) {
    path.add(hop)
    const { passId, endedMs } = hop
    if (passId === undefined) continue
    for (const each of byPass.get(passId) ?? []) if (each.endedMs <= endedMs) path.add(each)
  }
  return path
}

interface NamedTime {
  readonly name: string
  readonly startedMs: number
  readonly endedMs: number
}

/**
 * A disjoint cover of the time by names. What no work explains is that of a wait beside the work, and then that of the
 * whole pass or request.
 */
function coverTime(path: ReadonlySet<Hop>, interval: Interval): readonly NamedTime[] {
  const named = [...path].flatMap(hop => hop.segments.map(segment => ({ segment, hop })))
  const layers = Map.groupBy(named, ({ segment }) => layerOf(segment))
  const cover: NamedTime[] = []
  for (const layer of ['work', 'wait', 'whole'] as const) {
    const times = (layers.get(layer) ?? []).map(toNamedTime)
    cover.push(...uncovered(cover, interval).flatMap(rest => lastEnding(times, rest)))
  }
  return cover
}

function uncovered(cover: readonly Interval[], { startedMs, endedMs }: Interval): readonly Interval[] {
  const rest: Interval[] = []
  let fromMs = startedMs
  const inOrder = cover.toSorted((left, right) => left.startedMs - right.startedMs)
  for (const each of [...inOrder, { startedMs: endedMs, endedMs }]) {
    if (each.startedMs > fromMs) rest.push({ startedMs: fromMs, endedMs: each.startedMs })
    fromMs = Math.max(fromMs, each.endedMs)
  }
  return rest
}

interface Interval {
  readonly startedMs: number
  readonly endedMs: number
}

/** Backwards from the end: each time explains what those that end later left. Latest first. */
function lastEnding(times: readonly NamedTime[], interval: Interval): readonly NamedTime[] {
  const cover: NamedTime[] = []
  let untilMs = interval.endedMs
  const latestFirst = times.toSorted((left, right) => right.endedMs - left.endedMs)
  for (const { name, startedMs, endedMs } of latestFirst) {
    const end = Math.min(endedMs, untilMs)
    const begin = Math.max(startedMs, interval.startedMs)
    if (begin >= end) continue
    cover.push({ name, startedMs: begin, endedMs: end })
    untilMs = begin
  }
  return cover
}

function layerOf({ kind, name }: Segment): 'work' | 'wait' | 'whole' {
  if (kind === 'pass' || kind === 'request') return 'whole'
  return kind === 'step' && name === 'status' ? 'wait' : 'work'
}

function toNamedTime({ segment, hop }: { readonly segment: Segment; readonly hop: Hop }): NamedTime {
  return { name: nameOf(segment, hop), startedMs: segment.startedMs, endedMs: endOf(segment) }
}

function endOf({ startedMs, durationMs }: Segment): number {
  return startedMs + durationMs
}

function nameOf({ kind, name }: Segment, { actor }: Hop): string {
  if (kind === 'request' || kind === 'stage') return 'API requests'
  if (kind === 'watch') return 'watches'
  if (kind === 'queue') return `queue of ${actor}`
  if (kind === 'gap') return 'unexplained'
  if (kind === 'pass') return actor
  return stepNames.get(name) ?? (actor.includes('scheduler') ? 'scheduling' : `${actor} ${name}`)
}

const stepNames: ReadonlyMap<string, string> = new Map([
  ['volumes', 'volumes'],
  ['sandbox', 'pod sandbox'],
  ['network', 'pod network'],
  ['pull', 'image pull'],
  ['create', 'container create'],
  ['start', 'container start'],
  ['init', 'init containers'],
  ['post-start', 'postStart hooks'],
  ['startup-probe', 'startup probe'],
  ['readiness-probe', 'readiness probe'],
  ['liveness-probe', 'liveness probe'],
  ['run', 'container run'],
  ['back-off', 'back-off'],
  ['status', 'pod status'],
  ['pre-stop', 'preStop hooks'],
  ['kill', 'container stop'],
  ['teardown', 'pod teardown'],
])
