import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../components/icon.tsx'
import { Notice } from '../components/notice.tsx'
import { formatTime } from '../format/format-time.ts'
import { nowMs } from '../format/now.ts'
import { hrefOf, replaceQuery, route } from '../router/router.ts'
import { noHistoryText } from './no-history.ts'
import type { Changes } from './use-changes.ts'

export interface RewindBarProps {
  readonly changes: Changes
  /** The moment that is shown; now if it is undefined. */
  readonly at: string | undefined
}

export const spans: ReadonlyMap<string, { readonly title: string; readonly spanMs: number }> = new Map([
  ['10m', { title: '10 minutes', spanMs: 600_000 }],
  ['1h', { title: '1 hour', spanMs: 3_600_000 }],
  ['6h', { title: '6 hours', spanMs: 21_600_000 }],
  ['1d', { title: '1 day', spanMs: 86_400_000 }],
  ['7d', { title: '7 days', spanMs: 604_800_000 }],
])

export const spanDefault = '10m'

/** A state is read when the slider has rested for so long. */
const settleMs = 120
const positions = 1_000

/** Goes back in the history: the address has the moment, and the views show the state of that moment. */
export function RewindBar({ changes, at }: RewindBarProps): JSX.Element {
  const { phase, timesMs, message } = changes
  const { span = spanDefault } = route.value.query
  const interval = useInterval(changes, span)
  const momentMs = at === undefined ? interval.endMs : (timeOfMoment(at) ?? interval.endMs)
  if (phase === 'no-history') return <Notice tone="idle" title={noHistoryText} />
  if (phase === 'failed') return <Notice tone="warn" title="The history cannot be read" detail={message} />
  if (phase === 'loading') return <Notice tone="busy" title="Reading the history" />
  return (
    <div class="rewind-bar" role="group" aria-label="Moment to show">
      <button
        type="button"
        class="icon-button"
        aria-label="Previous change"
        onClick={() => show(timesMs.findLast(timeMs => Math.ceil(timeMs) < momentMs) ?? momentMs)}
      >
        <span class="flipped">
          <Icon name="arrow" />
        </span>
      </button>
      <button
        type="button"
        class="icon-button"
        aria-label="Next change"
        disabled={at === undefined}
        onClick={() => show(timesMs.find(timeMs => Math.ceil(timeMs) > momentMs))}
      >
        <Icon name="arrow" />
      </button>
      <MomentSlider {...interval} timesMs={timesMs} momentMs={at === undefined ? undefined : momentMs} />
      <label class="field">
        <span class="visually-hidden">Length of the slider</span>
        <select value={span} onChange={event => replaceQuery({ span: event.currentTarget.value })}>
          {[...spans].map(([name, { title }]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      {at === undefined ? null : (
        <a class="button" href={hrefOf(['compare'], { from: at })}>
          Compare with now
        </a>
      )}
    </div>
  )
}

/** Undefined for a revision. */
export function timeOfMoment(at: string): number | undefined {
  const timeMs = /^\d+$/.test(at) ? Number.NaN : Date.parse(at)
  return Number.isNaN(timeMs) ? undefined : timeMs
}

function show(timeMs: number | undefined): void {
  replaceQuery({ at: timeMs === undefined ? undefined : new Date(Math.ceil(timeMs)).toISOString() })
}

interface MomentSliderProps extends Interval {
  readonly timesMs: readonly number[]
  /** Undefined for now. */
  readonly momentMs: number | undefined
}

function MomentSlider({ startMs, endMs, timesMs, momentMs }: MomentSliderProps): JSX.Element {
  const [draggedMs, setDragged] = useState<number>()
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const shownMs = draggedMs ?? momentMs ?? endMs
  const drag = (position: number): void => {
    const timeMs = startMs + ((endMs - startMs) * position) / positions
    setDragged(timeMs)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      setDragged(undefined)
      show(position >= positions ? undefined : timeMs)
    }, settleMs)
  }
  const text = shownMs === endMs ? 'Now' : formatTime(shownMs)
  return (
    <>
      <div class="rewind-slider">
        <input
          type="range"
          aria-label="Time"
          aria-valuetext={text}
          min={0}
          max={positions}
          value={endMs > startMs ? ((shownMs - startMs) / (endMs - startMs)) * positions : positions}
          onInput={event => drag(Number(event.currentTarget.value))}
        />
        <ChangeMarks timesMs={timesMs} startMs={startMs} endMs={endMs} />
      </div>
      <span class="rewind-moment">{text}</span>
    </>
  )
}

interface Interval {
  readonly startMs: number
  readonly endMs: number
}

/** The end is now while now is shown. In the past it stands still: the slider must not move by itself. */
function useInterval({ sinceMs }: Changes, span: string): Interval {
  const isPast = route.value.query['at'] !== undefined
  const fixedMs = useRef(nowMs.peek())
  if (!isPast) fixedMs.current = nowMs.value
  const { spanMs = 0 } = spans.get(span) ?? spans.get(spanDefault) ?? {}
  return { startMs: Math.max(sinceMs, fixedMs.current - spanMs), endMs: fixedMs.current }
}

const markColumns = 400

/** A line for each moment with changes. */
function ChangeMarks({
  timesMs,
  startMs,
  endMs,
}: Interval & { readonly timesMs: readonly number[] }): JSX.Element {
  const columns = new Set(
    timesMs
      .filter(timeMs => timeMs >= startMs && timeMs <= endMs)
      .map(timeMs => Math.round(((timeMs - startMs) / Math.max(1, endMs - startMs)) * markColumns)),
  )
  return (
    <svg class="rewind-marks" viewBox={`0 0 ${markColumns} 6`} preserveAspectRatio="none" aria-hidden="true">
      <path d={[...columns].map(x => `M${x} 0V6`).join('')} />
    </svg>
  )
}
