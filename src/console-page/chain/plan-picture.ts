/** Plans the picture of a trace: lanes by component, and in them bars with arrows from causes to what they caused. */
import type { ShownHop } from '#/trace/group-hops.ts'
import type { Hop, Segment } from '#/trace/trace.ts'
import { planTimeScale, type TimeScale } from './time-scale.ts'

export interface Picture {
  readonly lanes: readonly Lane[]
  readonly bars: readonly Bar[]
  readonly arrows: readonly Arrow[]
  readonly ticks: readonly Tick[]
  readonly scale: TimeScale
  readonly width: number
  readonly height: number
}

export interface Lane {
  readonly title: string
  readonly top: number
  readonly height: number
}

export interface Bar {
  readonly hop: Hop
  readonly type: 'queue' | 'pass' | 'request'
  readonly x: number
  readonly y: number
  readonly width: number
  /** Beside the bar; empty for none. */
  readonly label: string
}

/** From the end of the cause to the begin of the caused hop, or from a pass to its request. */
export interface Arrow {
  readonly hop: Hop
  readonly cause: Hop
  readonly from: Point
  readonly to: Point
}

export interface Point {
  readonly x: number
  readonly y: number
}

export interface Tick {
  readonly x: number
  readonly offsetMs: number
}

export const barHeight = 14
export const tickHeight = 24
const rowHeight = 22
const laneTitleHeight = 20
const lanePadding = 6
/** Bars beyond them overlap in the last row. */
const rowsMax = 12
const barWidthMin = 5
const characterWidth = 6.6
const labelGap = 6
const tickGap = 110
/** Room for the label of the last bar. */
const marginRight = 260
const marginLeft = 12

export function planPicture(shown: readonly ShownHop[], { widthMin = 0 } = {}): Picture {
  const crowded = crowdedActors(shown)
  const parts = shown.flatMap(each => partsOf(each, crowded))
  const moments = parts.flatMap(({ startedMs, endedMs }) => [startedMs, endedMs])
  const scale = planTimeScale(moments, { widthMin: widthMin - marginLeft - marginRight })
  const placed = placeInRows(parts, scale)
  const lanes = planLanes(placed)
  const topOf = new Map(lanes.map(({ title, top }) => [title, top]))
  const bars = placed.map(({ part, row, x, width }) => ({
    hop: part.hop,
    type: part.type,
    label: part.label,
    x,
    width,
    y: (topOf.get(part.lane) ?? 0) + laneTitleHeight + row * rowHeight,
  }))
  const startMs = Math.min(...moments)
  return {
    lanes,
    bars,
    arrows: planArrows(bars),
    ticks: planTicks(moments, { scale, startMs }),
    scale,
    width: marginLeft + scale.width + marginRight,
    height: lanes.reduce((bottom, { top, height }) => Math.max(bottom, top + height), tickHeight),
  }
}

/** Position in the picture of a moment. */
export function pictureX({ scale }: Pick<Picture, 'scale'>, timeMs: number): number {
  return marginLeft + scale.xOf(timeMs)
}

export function pictureTime({ scale }: Pick<Picture, 'scale'>, x: number): number {
  return scale.timeAt(x - marginLeft)
}

interface Part {
  readonly hop: Hop
  readonly type: Bar['type']
  readonly lane: string
  readonly startedMs: number
  readonly endedMs: number
  readonly label: string
}

const apiServerLane = 'API server'

/** Waiting and work in the lane of the component, and the request in that of the API server. */
function partsOf({ hop, more }: ShownHop, crowded: ReadonlySet<string>): readonly Part[] {
  const request = hop.segments.find(({ kind }) => kind === 'request')
  const queue = hop.segments.find(({ kind }) => kind === 'queue')
  const pass = hop.segments.find(({ kind }) => kind === 'pass')
  const lane = laneTitle(crowded.has(hop.actor) ? { ...hop, node: 'several nodes' } : hop)
  const label = more === undefined ? hopLabel(hop) : `${hopLabel(hop)} and ${more.count} alike`
  const parts: Part[] = []
  if (queue !== undefined) parts.push({ hop, type: 'queue', lane, ...intervalOf(queue), label: '' })
  const work = pass ?? request
  const interval = work === undefined ? { startedMs: hop.startedMs, endedMs: hop.endedMs } : intervalOf(work)
  parts.push({ hop, type: 'pass', lane, ...interval, label })
  if (request !== undefined) {
    parts.push({ hop, type: 'request', lane: apiServerLane, ...intervalOf(request), label: '' })
  }
  return parts
}

/** Components that act on more nodes have one lane for all of them. */
const nodeLanesMax = 4

function crowdedActors(shown: readonly ShownHop[]): ReadonlySet<string> {
  const nodes = Map.groupBy(
    shown.filter(({ hop }) => hop.node !== undefined),
    ({ hop }) => hop.actor,
  )
  const isCrowded = ([, hops]: readonly [string, readonly ShownHop[]]): boolean =>
    new Set(hops.map(({ hop }) => hop.node)).size > nodeLanesMax
  return new Set([...nodes].filter(isCrowded).map(([actor]) => actor))
}

function intervalOf({ startedMs, durationMs }: Segment): { startedMs: number; endedMs: number } {
  return { startedMs, endedMs: startedMs + durationMs }
}

const labelMax = 34

function hopLabel({ object, subresource, verb, key = '' }: Hop): string {
  if (object === undefined) return shorten(key)
  const kind = subresource === undefined ? object.kind : `${object.kind}/${subresource}`
  return shorten(`${verb === 'create' || verb === 'delete' ? `${verb} ` : ''}${kind} ${object.name}`)
}

function shorten(text: string): string {
  return text.length > labelMax ? `${text.slice(0, labelMax - 1)}…` : text
}

interface Placed {
  readonly part: Part
  readonly row: number
  readonly x: number
  readonly width: number
}

/** The queue and the pass of a hop are in one row: the row is chosen by both. */
function placeInRows(parts: readonly Part[], scale: TimeScale): readonly Placed[] {
  const rowEnds = new Map<string, number[]>()
  const placed: Placed[] = []
  let queued: Placed | undefined
  const boundsOf = ({ startedMs, endedMs }: Part) => {
    const x = marginLeft + scale.xOf(startedMs)
    return { x, width: Math.max(barWidthMin, marginLeft + scale.xOf(endedMs) - x) }
  }
  for (const [index, part] of parts.entries()) {
    const { x, width } = boundsOf(part)
    const next = parts[index + 1]
    const ends = rowEnds.get(part.lane) ?? []
    rowEnds.set(part.lane, ends)
    const isSecond = part.type === 'pass' && queued?.part.hop === part.hop
    const row = isSecond && queued !== undefined ? queued.row : freeRow(ends, x)
    const labelWidth = part.label === '' ? 0 : labelGap + part.label.length * characterWidth
    ends[row] = Math.max(ends[row] ?? 0, x + width + labelWidth + labelGap)
    const own: Placed = { part, row, x, width }
    placed.push(own)
    queued = part.type === 'queue' && next?.hop === part.hop ? own : undefined
  }
  return placed
}

function freeRow(ends: readonly number[], x: number): number {
  const free = ends.findIndex(end => end <= x)
  return free === -1 ? Math.min(ends.length, rowsMax - 1) : free
}

function planLanes(placed: readonly Placed[]): readonly Lane[] {
  const rows = new Map<string, number>()
  for (const { part, row } of placed) rows.set(part.lane, Math.max(rows.get(part.lane) ?? 0, row + 1))
  const order = [...rows.keys()]
  const titles = order.toSorted(
    (left, right) => laneRank(left) - laneRank(right) || order.indexOf(left) - order.indexOf(right),
  )
  let top = tickHeight
  return titles.map(title => {
    const height = laneTitleHeight + (rows.get(title) ?? 1) * rowHeight + lanePadding
    const lane = { title, top, height }
    top += height
    return lane
  })
}

function planArrows(bars: readonly Bar[]): readonly Arrow[] {
  const barsOf = Map.groupBy(bars, ({ hop }) => hop.id)
  const middle = ({ y }: Bar): number => y + barHeight / 2
  const arrows: Arrow[] = []
  for (const own of barsOf.values()) {
    const [first] = own
    const pass = own.find(({ type }) => type === 'pass')
    const request = own.find(({ type }) => type === 'request')
    if (first === undefined) continue
    const { hop } = first
    if (pass && request) {
      const x = Math.max(request.x, pass.x)
      arrows.push({ hop, cause: hop, from: { x, y: middle(pass) }, to: { x: request.x, y: middle(request) } })
    }
    const cause = barsOf.get(hop.parent ?? '')?.at(-1)
    if (cause === undefined) continue
    const from = { x: cause.x + cause.width, y: middle(cause) }
    arrows.push({ hop, cause: cause.hop, from, to: { x: first.x, y: middle(first) } })
  }
  return arrows
}

interface TickOptions {
  readonly scale: TimeScale
  readonly startMs: number
}

/** Moments at which something began or ended, as far apart as their labels need. */
function planTicks(moments: readonly number[], { scale, startMs }: TickOptions): readonly Tick[] {
  const ticks: Tick[] = []
  for (const timeMs of [...moments].sort((left, right) => left - right)) {
    const x = marginLeft + scale.xOf(timeMs)
    const last = ticks.at(-1)
    if (last === undefined || x - last.x >= tickGap) ticks.push({ x, offsetMs: timeMs - startMs })
  }
  return ticks
}

/** In the order of the chain: a request goes down through them. */
const ranks: readonly RegExp[] = [
  /^Clients$/,
  /^API server$/,
  /controller|manager|operator/,
  /scheduler/,
  /^kubelet/,
  /proxy/,
  /dns/,
]
const endpointSlice = /endpoint/

export function laneTitle({ actor, passId, node }: Pick<Hop, 'actor' | 'passId' | 'node'>): string {
  if (passId === undefined) return 'Clients'
  return node === undefined ? actor : `${actor} on ${node}`
}

/** The EndpointSlice controller acts on ready pods, so it follows the kubelet. Others follow at the end. */
export function laneRank(title: string): number {
  const lower = /^(?:Clients|API server)$/.test(title) ? title : title.toLowerCase()
  if (endpointSlice.test(lower)) return ranks.findIndex(rank => rank.test('kubelet')) + 0.5
  const rank = ranks.findIndex(each => each.test(lower))
  return rank === -1 ? ranks.length : rank
}
