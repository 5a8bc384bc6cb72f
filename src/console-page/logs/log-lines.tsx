import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { virtualWindow } from '../components/virtual-window.ts'
import type { LogLine } from './log-buffer.ts'
import { parseAnsi, wrapSegments, type LogSegment } from './parse-ansi.ts'

export interface LogLinesProps {
  readonly lines: readonly LogLine[]
  /** Scrolls to the end as lines arrive. Set to false when the user scrolls back. */
  readonly isFollowing: boolean
  readonly onFollowing: (isFollowing: boolean) => void
  readonly hasTimes: boolean
  readonly hasSources: boolean
  readonly isWrapped: boolean
}

/** Height of a row in pixels, as in the style sheet. */
const rowHeight = 19
const overscan = 20
/** Where less room is left for the text, time and source have a row of their own. */
const textColumnsMin = 40
const colours = 8

interface LogRow {
  readonly line: LogLine
  readonly segments: readonly LogSegment[]
  /** The time and source before the text: shown, left blank so that the text is aligned, or without room. */
  readonly prefix: 'shown' | 'blank' | 'none'
}

/** The lines of a log; only the visible ones are in the document. */
export function LogLines(props: LogLinesProps): JSX.Element {
  const { lines, isFollowing, onFollowing, isWrapped } = props
  const element = useRef<HTMLDivElement>(null)
  const ruler = useRef<HTMLSpanElement>(null)
  const view = useSignal({ scrollTop: 0, viewHeight: 600, columns: 120 })
  const rows = rowsOf(props, isWrapped ? view.value.columns : Number.POSITIVE_INFINITY)
  const measure = (): void => {
    const { scrollTop = 0, clientHeight = 0, clientWidth = 0 } = element.current ?? {}
    const characterWidth = (ruler.current?.getBoundingClientRect().width ?? 80) / 10
    const columns = Math.max(10, Math.floor((clientWidth - 20) / characterWidth))
    const old = view.peek()
    if (old.scrollTop !== scrollTop || old.viewHeight !== clientHeight || old.columns !== columns) {
      view.value = { scrollTop, viewHeight: clientHeight, columns }
    }
  }
  useEffect(() => {
    const observer = new ResizeObserver(measure)
    if (element.current) observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  useLayoutEffect(() => {
    if (isFollowing && element.current) element.current.scrollTop = element.current.scrollHeight
    measure()
  }, [lines, isFollowing, isWrapped, rows.length])
  const onScroll = (): void => {
    measure()
    const { scrollTop = 0, clientHeight = 0, scrollHeight = 0 } = element.current ?? {}
    onFollowing(scrollTop + clientHeight >= scrollHeight - rowHeight)
  }
  const shown = virtualWindow({ ...view.value, count: rows.length, rowHeight, overscan })
  return (
    <div
      ref={element}
      class="log-lines"
      role="log"
      aria-live="off"
      aria-label="Log"
      tabIndex={0}
      onScroll={onScroll}
    >
      <span ref={ruler} class="log-ruler" aria-hidden="true">
        0000000000
      </span>
      <div class="log-body" style={{ height: `${shown.totalHeight}px` }}>
        <div style={{ transform: `translateY(${shown.offset}px)` }}>
          {rows.slice(shown.start, shown.end).map((row, index) => (
            <LogRowLine key={shown.start + index} row={row} {...props} />
          ))}
        </div>
      </div>
    </div>
  )
}

/** Lines are parsed once. */
const parsed = new WeakMap<LogLine, LogSegment[]>()

function segmentsOf(line: LogLine): LogSegment[] {
  const known = parsed.get(line)
  if (known) return known
  const segments = parseAnsi(line.text)
  parsed.set(line, segments)
  return segments
}

function rowsOf({ lines, hasTimes, hasSources }: LogLinesProps, columns: number): LogRow[] {
  return lines.flatMap((line): LogRow[] => {
    const segments = segmentsOf(line)
    if (columns === Number.POSITIVE_INFINITY) return [{ line, segments, prefix: 'shown' }]
    const prefix = (hasTimes ? line.time.length + 1 : 0) + (hasSources ? line.source.length + 1 : 0)
    if (prefix > 0 && columns - prefix < textColumnsMin) {
      const rows = wrapSegments(segments, columns).map(
        row => ({ line, segments: row, prefix: 'none' }) as const,
      )
      return [{ line, segments: [], prefix: 'shown' }, ...rows]
    }
    const rows = wrapSegments(segments, columns - prefix)
    return rows.map((row, index) => ({ line, segments: row, prefix: index === 0 ? 'shown' : 'blank' }))
  })
}

interface LogRowLineProps extends LogLinesProps {
  readonly row: LogRow
}

function LogRowLine({ row: { line, segments, prefix }, hasTimes, hasSources }: LogRowLineProps): JSX.Element {
  return (
    <div class={prefix === 'blank' ? 'log-row is-continued' : 'log-row'}>
      {hasTimes && prefix !== 'none' ? <span class="log-time">{line.time} </span> : null}
      {hasSources && prefix !== 'none' ? (
        <span class={`log-source log-source-${colourOf(line.source)}`}>{line.source} </span>
      ) : null}
      {segments.map(({ text, classes }, index) => (
        <span key={index} class={classes.join(' ')}>
          {text}
        </span>
      ))}
    </div>
  )
}

function colourOf(source: string): number {
  let sum = 0
  for (let at = 0; at < source.length; at++) sum = (sum * 31 + source.charCodeAt(at)) % 65_521
  return sum % colours
}
