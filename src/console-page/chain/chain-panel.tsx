import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { formatMs, formatOffset } from '#/trace/format-trace.ts'
import { groupHops } from '#/trace/group-hops.ts'
import type { Hop, Trace } from '#/trace/trace.ts'
import { Icon } from '../components/icon.tsx'
import { Notice } from '../components/notice.tsx'
import { formatTime } from '../format/format-time.ts'
import { noHistoryText } from '../history/no-history.ts'
import { ChainPicture } from './chain-picture.tsx'
import { HopDetails } from './hop-details.tsx'
import { HopList } from './hop-list.tsx'
import { planPicture } from './plan-picture.ts'
import { stepAt } from './playback.ts'
import { hopAtPlayhead, usePlayback, type PlaybackControls } from './use-playback.ts'
import { useTrace, type TracedKey } from './use-trace.ts'

export interface ChainPanelProps extends TracedKey {
  readonly onPause?: () => void
}

/** The chain of an object, from the request that began it, as it happens. */
export function ChainPanel({ onPause, ...key }: ChainPanelProps): JSX.Element {
  const { phase, trace, error } = useTrace(key)
  if (phase === 'no-history') return <Notice tone="idle" title={noHistoryText} />
  return (
    <>
      {phase === 'reconnecting' ? (
        <Notice tone="warn" title="Reconnecting; the chain may be out of date" detail={error?.message} />
      ) : null}
      {trace === undefined ? (
        <Notice
          tone="busy"
          title={phase === 'loading' ? 'Reading the chain' : 'No write of this object is recorded yet'}
        />
      ) : (
        <ChainOfTrace trace={trace} onPause={onPause} />
      )}
    </>
  )
}

/** Hops that are alike are grouped in chains that are longer. */
const ungroupedMax = 40

interface ChainOfTraceProps {
  readonly trace: Trace
  readonly onPause: (() => void) | undefined
}

function ChainOfTrace({ trace, onPause }: ChainOfTraceProps): JSX.Element {
  const isComplete = useSignal(false)
  const selectedId = useSignal<string | undefined>(undefined)
  const area = useRef<HTMLDivElement>(null)
  const widthMin = useWidth(area)
  const isLong = trace.hops.length > ungroupedMax
  const shown = useMemo(
    () => (isLong && !isComplete.value ? groupHops(trace.hops) : trace.hops.map(hop => ({ hop }))),
    [trace, isComplete.value],
  )
  const hops = useMemo(() => shown.map(({ hop }) => hop), [shown])
  const picture = useMemo(() => planPicture(shown, { widthMin }), [shown, widthMin])
  const controls = usePlayback(picture, { hops, chainId: trace.root.id, onPause })
  const select = (hop: Hop): void => {
    selectedId.value = hop.id
  }
  const picked = hops.find(({ id }) => id === selectedId.value)
  return (
    <div class="chain" ref={area}>
      <div class="chain-bar-controls">
        <Controls controls={controls} trace={trace} onMove={() => (selectedId.value = undefined)} />
        {isLong ? (
          <label class="check">
            <input
              type="checkbox"
              checked={isComplete.value}
              onChange={event => (isComplete.value = event.currentTarget.checked)}
            />
            All {trace.hops.length} hops
          </label>
        ) : null}
      </div>
      <ChainSummary trace={trace} />
      <Selection hops={hops} controls={controls} picked={picked}>
        {hop => (
          <>
            <ChainPicture
              picture={picture}
              playback={controls.playback}
              label={`Chain of ${trace.hops.length} hops; the list below has the same hops`}
              selected={hop}
              onSelect={select}
            />
            <p class="chain-legend" aria-hidden="true">
              <span class="is-queue">waiting in the queue</span>
              <span class="is-pass">work of the component</span>
              <span class="is-request">request in the API server</span>
              <span class="is-arrow">cause</span>
            </p>
            {hop ? <HopDetails trace={trace} hop={hop} onSelect={select} /> : null}
            <HopList trace={trace} shown={shown} selected={hop} onSelect={select} />
          </>
        )}
      </Selection>
    </div>
  )
}

interface SelectionProps {
  readonly hops: readonly Hop[]
  readonly controls: PlaybackControls
  readonly picked: Hop | undefined
  readonly children: (hop: Hop | undefined) => JSX.Element
}

/** The hop that was picked, or else the one at the playhead of a paused chain. */
function Selection({ hops, controls, picked, children }: SelectionProps): JSX.Element {
  const { playback, steps } = controls
  // While it is played, the playhead moves with each frame.
  const atPlayhead = playback.value.isPlaying ? undefined : hopAtPlayhead(hops, steps, playback.value)
  return children(picked ?? atPlayhead)
}

interface ControlsProps {
  readonly controls: PlaybackControls
  readonly trace: Trace
  readonly onMove: () => void
}

function Controls({ controls, trace, onMove }: ControlsProps): JSX.Element {
  const { playback, steps } = controls
  const { isPlaying, playheadMs } = playback.value
  const step = stepAt(steps, playheadMs)
  const count = steps.endsMs.length
  const isLive = isPlaying && step === count
  const offset = formatOffset(Math.max(0, playheadMs - trace.startedMs))
  const text = `${step} of ${count} hops, ${offset}`
  const act = (action: () => void) => (): void => {
    onMove()
    action()
  }
  return (
    <div class="playback" role="group" aria-label="Playback">
      <button
        type="button"
        class="icon-button"
        aria-label="One hop back"
        onClick={act(() => controls.step(-1))}
      >
        <span class="flipped">
          <Icon name="arrow" />
        </span>
      </button>
      <button
        type="button"
        class="button"
        aria-label={isPlaying ? 'Pause' : 'Play'}
        aria-keyshortcuts="Space"
        onClick={act(controls.toggle)}
      >
        <Icon name={isPlaying ? 'pause' : 'play'} />
        {isPlaying ? 'Pause' : step === count ? 'Replay' : 'Play'}
      </button>
      <button
        type="button"
        class="icon-button"
        aria-label="One hop forward"
        onClick={act(() => controls.step(1))}
      >
        <Icon name="arrow" />
      </button>
      <input
        type="range"
        aria-label="Position in the chain"
        aria-valuetext={text}
        min={0}
        max={count}
        value={step}
        onInput={event => act(() => controls.seek(Number(event.currentTarget.value)))()}
      />
      <span class={`playback-state ${isLive ? 'tone-good' : 'tone-idle'}`}>
        <span class="status-mark" aria-hidden="true" />
        {isLive ? 'Live' : text}
      </span>
    </div>
  )
}

const sharesMax = 5

function ChainSummary({ trace }: { readonly trace: Trace }): JSX.Element {
  const { hops, startedMs, endedMs, breakdown, notes } = trace
  const shares = breakdown
    .slice(0, sharesMax)
    .filter(({ share }) => share >= 0.01)
    .map(({ name, share, durationMs }) => `${name} ${Math.round(share * 100)} % (${formatMs(durationMs)})`)
  return (
    <div class="chain-summary">
      <p>
        <strong>
          {hops.length} {hops.length === 1 ? 'hop' : 'hops'} in {formatMs(endedMs - startedMs)}
        </strong>{' '}
        <span class="detail">
          from <time dateTime={new Date(startedMs).toISOString()}>{formatTime(startedMs)}</time>
        </span>
      </p>
      {shares.length > 0 ? <p class="detail">Time went to {shares.join(', ')}</p> : null}
      {notes.map(note => (
        <p key={note} class="detail">
          Note: {note}
        </p>
      ))}
    </div>
  )
}

function useWidth(area: { readonly current: HTMLDivElement | null }): number {
  const width = useSignal(0)
  useEffect(() => {
    const measure = (): void => {
      width.value = area.current?.clientWidth ?? 0
    }
    measure()
    const observer = new ResizeObserver(measure)
    if (area.current) observer.observe(area.current)
    return () => observer.disconnect()
  }, [])
  return width.value
}
