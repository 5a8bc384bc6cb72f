/** Output of `k8ts trace` as text and JSON, without the control characters that names and details may contain. */
import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import type { Hop, Segment, TimeShare, Trace, TraceTarget } from './trace.ts'
import { groupHops } from './group-hops.ts'

export interface FormatOptions {
  /** Shows every hop, also those of many pods that are alike. */
  readonly isComplete?: boolean
}

/** A summary, then the timeline. */
export function formatTrace(trace: Trace, { isComplete = false }: FormatOptions = {}): string {
  const shown = isComplete ? trace.hops.map(hop => ({ hop, more: undefined })) : groupHops(trace.hops)
  return [
    ...beginLines(trace),
    ...totalLines(trace),
    '',
    traceHeading,
    ...shown.flatMap(({ hop, more }) => {
      if (more === undefined) return hopLines(hop, trace)
      const lastAt = formatOffset(more.last.startedMs - trace.startedMs)
      return [
        ...hopLines(hop, trace),
        `${partIndent(hop)}and ${more.count} more like this, the last at ${lastAt}`,
      ]
    }),
    ...noteLines(trace),
    '',
  ].join('\n')
}

/** Control characters are only in strings, apart from line feeds. */
export function traceJson(trace: Trace): string {
  const document = { kind: 'Trace', apiVersion: 'k8ts.io/v1alpha1', ...trace, root: trace.root.id }
  return `${JSON.stringify(document, null, 2).split('\n').map(escapeControlCharacters).join('\n')}\n`
}

const traceHeading = '    OFFSET  DURATION  HOP'

/** The text of a trace that grows: each hop once. */
export class HopPrinter {
  readonly #printed = new Set<string>()
  #trace: Trace | undefined

  /** What is new, with a heading if another chain began. */
  next(trace: Trace): string {
    const isAnother = trace.root.id !== this.#trace?.root.id
    const heading = this.#trace === undefined ? [] : [...this.#endLines(), '']
    if (isAnother) this.#printed.clear()
    const begin = isAnother ? [...heading, ...beginLines(trace), '', traceHeading] : []
    this.#trace = trace
    const hops = trace.hops.filter(({ id }) => !this.#printed.has(id))
    for (const { id } of hops) this.#printed.add(id)
    return [...begin, ...hops.flatMap(hop => hopLines(hop, trace)), ''].join('\n')
  }

  /** Why no hop follows. */
  waiting(unsettled: readonly string[]): string {
    return `${unsettled.map(each => `    waiting for ${printable(each)}`).join('\n')}\n`
  }

  /** The summary of the last chain. */
  end(): string {
    return [...this.#endLines(), ''].join('\n')
  }

  #endLines(): readonly string[] {
    if (this.#trace === undefined) return []
    return ['', ...totalLines(this.#trace), ...noteLines(this.#trace)]
  }
}

/** The hop and its parts; offsets are relative to the start of the trace. */
function hopLines(hop: Hop, { startedMs }: Pick<Trace, 'startedMs'>): readonly string[] {
  const offset = formatOffset(hop.startedMs - startedMs).padStart(10)
  const duration = formatMs(hop.endedMs - hop.startedMs).padStart(10)
  return [
    `${offset}${duration}  ${indentOf(hop)}${describeHop(hop)}`,
    ...wrap([...leadParts(hop), ...requestParts(hop)], partIndent(hop)),
  ]
}

/** One line: `kubelet on node-1: patch Pod/status shop/web-0 @107`. */
export function describeHop({
  actor,
  node,
  verb,
  subresource,
  object,
  key,
  revision,
  userAgent,
  depth,
}: Hop): string {
  const who = `${actor}${node === undefined ? '' : ` on ${node}`}${
    depth === 0 && userAgent ? ` (${userAgent.split(' ')[0]})` : ''
  }`
  if (object === undefined) return printable(key ? `${who}: ${key}` : who)
  const kind = subresource === undefined ? object.kind : `${object.kind}/${subresource}`
  return printable(`${who}: ${verb ?? 'write'} ${kind} ${nameOf(object)} @${revision}`)
}

function beginLines({ target, root, startedMs }: Trace): readonly string[] {
  return [
    printable(`${target.kind} ${nameOf(target)}, from ${new Date(startedMs).toISOString()}`),
    `began with ${describeHop(root)}`,
  ]
}

function totalLines({ hops, startedMs, endedMs, breakdown }: Trace): readonly string[] {
  const gaps = hops.flatMap(({ segments }) => segments.filter(({ kind }) => kind === 'gap'))
  const total = `${hops.length} ${hops.length === 1 ? 'hop' : 'hops'} in ${formatMs(endedMs - startedMs)}`
  const gapsMs = gaps.reduce((sum, { durationMs }) => sum + durationMs, 0)
  const [first, ...rest] = shares(breakdown)
  return [
    gaps.length === 0 ? total : `${total}; ${gaps.length} unexplained (gap), ${formatMs(gapsMs)}`,
    ...(first === undefined ? [] : wrap([`time went to ${first}`, ...rest], '')),
  ]
}

function noteLines({ notes }: Trace): readonly string[] {
  return notes.length === 0 ? [] : ['', 'Notes:', ...notes.map(note => `  ${printable(note)}`)]
}

function shares(breakdown: readonly TimeShare[]): readonly string[] {
  return breakdown
    .filter(({ share }) => share >= sharesMin)
    .map(({ name, durationMs, share }) =>
      printable(`${name} ${Math.round(share * 100)} % (${formatMs(durationMs)})`),
    )
}

/** Smaller ones are not mentioned. */
const sharesMin = 0.01

function leadParts({ segments }: Hop): readonly string[] {
  const hasSteps = segments.some(({ kind }) => kind === 'step')
  return segments
    .filter(
      each =>
        ['watch', 'queue', 'step'].includes(each.kind) ||
        (each.kind === 'pass' && !hasSteps) ||
        isLeadGap(each),
    )
    .filter(each => each.kind === 'gap' || each.durationMs >= shownMs || each.kind === 'step')
    .map(describeSegment)
}

function requestParts(hop: Hop): readonly string[] {
  const request = hop.segments.find(({ kind }) => kind === 'request')
  if (request === undefined) return []
  const isRoot = hop.depth === 0
  const parts = hop.segments
    .filter(each => each.kind === 'stage' || (each.kind === 'gap' && !isLeadGap(each)))
    .filter(each => isRoot || each.durationMs >= shownMs)
    .map(describeSegment)
  const [first, ...rest] = parts
  const whole = `request ${formatMs(request.durationMs)}`
  if (first === undefined) return [whole]
  const last = rest.pop()
  return last === undefined ? [`${whole} (${first})`] : [`${whole} (${first}`, ...rest, `${last})`]
}

function isLeadGap({ kind, name }: Segment): boolean {
  return kind === 'gap' && name !== 'request'
}

/** Shorter segments are not shown, except those of the request from outside and steps. */
const shownMs = 0.1

function describeSegment({ kind, name, detail, durationMs }: Segment): string {
  const label = kind === 'gap' ? 'gap' : name
  return printable(`${label}${detail ? ` ${detail}` : ''} ${formatMs(durationMs)}`)
}

function nameOf({ namespace, name }: Pick<TraceTarget, 'namespace' | 'name'>): string {
  return namespace === undefined ? name : `${namespace}/${name}`
}

function indentOf({ depth }: Hop): string {
  return '  '.repeat(Math.min(depth, depthMax))
}

/** Deeper hops are not indented further. */
const depthMax = 10

function partIndent(hop: Hop): string {
  return ' '.repeat(26).concat(indentOf(hop))
}

const columnsMax = 120

/** Texts separated by commas, in lines of limited length. */
function wrap(texts: readonly string[], indent: string): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const [index, text] of texts.entries()) {
    const item = index === texts.length - 1 ? text : `${text},`
    if (line !== '' && indent.length + line.length + 1 + item.length > columnsMax) {
      lines.push(`${indent}${line}`)
      line = item
    } else {
      line = line === '' ? item : `${line} ${item}`
    }
  }
  return line === '' ? lines : [...lines, `${indent}${line}`]
}

/** With milliseconds where the order of hops depends on them. */
export function formatOffset(ms: number): string {
  return ms < 9_999.5 && ms >= 9.95 ? `+${Math.round(ms)} ms` : `+${formatMs(ms)}`
}

/** `0.3 ms`, `12 ms`, `1.25 s`, `2m03s`. */
export function formatMs(ms: number): string {
  if (ms < 9.95) return `${ms.toFixed(1)} ms`
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_995) return `${(ms / 1_000).toFixed(2)} s`
  const seconds = Math.round(ms / 1_000)
  return `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`
}

const textMax = 300

function printable(text: string): string {
  return escapeControlCharacters(text.length > textMax ? `${text.slice(0, textMax)}...` : text)
}
