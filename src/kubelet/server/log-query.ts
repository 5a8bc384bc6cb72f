import { parseTime } from '#/api/text/time.ts'
import type { LogSelection } from './log-filter.ts'

export interface LogQuery {
  readonly selection: LogSelection
  readonly tailLines: number | undefined
  readonly follow: boolean
  readonly previous: boolean
}

const streams: ReadonlyMap<string, LogSelection['stream']> = new Map([
  ['', undefined],
  ['All', undefined],
  ['Stdout', 'stdout'],
  ['Stderr', 'stderr'],
])

/** Parses the query of a log request; undefined if it is invalid. */
export function readLogQuery(query: URLSearchParams, nowMs: number): LogQuery | undefined {
  const tail = query.get('tail')
  const tailLines = tail === 'all' ? undefined : wholeNumber(tail ?? query.get('tailLines'))
  const limitBytes = wholeNumber(query.get('limitBytes'))
  const sinceSeconds = wholeNumber(query.get('sinceSeconds'))
  const sinceTime = query.get('sinceTime') || undefined
  const sinceMs = sinceTime === undefined ? undefined : (parseTime(sinceTime) ?? Number.NaN)
  const stream = query.get('stream') ?? ''
  const numbers = [tailLines, limitBytes, sinceSeconds, sinceMs]
  const isSenseless =
    numbers.some(Number.isNaN) ||
    limitBytes === 0 ||
    sinceSeconds === 0 ||
    (sinceSeconds !== undefined && sinceMs !== undefined) ||
    !streams.has(stream) ||
    (streams.get(stream) !== undefined && tailLines !== undefined)
  if (isSenseless) return undefined
  const since = sinceSeconds === undefined ? sinceMs : nowMs - sinceSeconds * 1_000
  const wanted = streams.get(stream)
  return {
    selection: {
      timestamps: isTrue(query.get('timestamps')),
      ...(since !== undefined && { since: BigInt(Math.floor(since)) * 1_000_000n }),
      ...(wanted && { stream: wanted }),
      ...(limitBytes !== undefined && { limitBytes }),
    },
    tailLines,
    follow: isTrue(query.get('follow')),
    previous: isTrue(query.get('previous')),
  }
}

function wholeNumber(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined || text === '') return undefined
  return /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
}

function isTrue(value: string | null): boolean {
  return value !== null && value !== '0' && value.toLowerCase() !== 'false'
}
