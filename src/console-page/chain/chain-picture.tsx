import type { Signal } from '@preact/signals'
import { memo } from 'preact/compat'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { describeHop, formatMs, formatOffset } from '#/trace/format-trace.ts'
import type { Hop } from '#/trace/trace.ts'
import { barHeight, pictureX, tickHeight, type Arrow, type Bar, type Picture } from './plan-picture.ts'
import type { Playback } from './playback.ts'

export interface ChainPictureProps {
  readonly picture: Picture
  readonly playback: Signal<Playback>
  /** Of the picture, for screen readers; the list of hops says the same in words. */
  readonly label: string
  readonly selected: Hop | undefined
  readonly onSelect: (hop: Hop) => void
}

/** Lanes with bars and arrows. Nothing beyond the playhead is shown. */
export function ChainPicture({
  picture,
  playback,
  label,
  selected,
  onSelect,
}: ChainPictureProps): JSX.Element {
  const { width, height, lanes, ticks } = picture
  const area = useRef<HTMLDivElement>(null)
  useVisiblePlayhead(area, picture, playback)
  return (
    <div ref={area} class="chain-area" tabIndex={0} role="img" aria-label={label}>
      <div class="chain-titles" aria-hidden="true">
        {lanes.map(({ title, top }) => (
          <span key={title} style={{ top: `${top + 2}px` }}>
            {title}
          </span>
        ))}
      </div>
      <svg class="chain-svg" width={width} height={height} aria-hidden="true">
        {lanes.map((lane, index) => (
          <rect
            key={lane.title}
            class={`chain-lane${index % 2 === 1 ? ' is-odd' : ''}`}
            x={0}
            y={lane.top}
            width={width}
            height={lane.height}
          />
        ))}
        {ticks.map(({ x, offsetMs }) => (
          <g key={x} class="chain-tick">
            <path d={`M${x} ${tickHeight - 6}V${height}`} />
            <text x={x + 4} y={14}>
              {formatOffset(offsetMs)}
            </text>
          </g>
        ))}
        <Revealed picture={picture} playback={playback}>
          <Drawing picture={picture} selected={selected} onSelect={onSelect} />
        </Revealed>
        <Playhead picture={picture} playback={playback} />
      </svg>
    </div>
  )
}

interface MovingProps {
  readonly picture: Picture
  readonly playback: Signal<Playback>
  readonly children?: JSX.Element
}

/** At the end, labels beyond the last bar are visible, too. */
function revealedWidth(picture: Picture, { playheadMs }: Playback): number {
  const x = pictureX(picture, playheadMs)
  return x >= pictureX(picture, Infinity) ? picture.width : Math.max(0.1, x)
}

/** Only its width changes while the chain is played. */
function Revealed({ picture, playback, children }: MovingProps): JSX.Element {
  return (
    <svg class="chain-revealed" width={revealedWidth(picture, playback.value)} height={picture.height}>
      {children}
    </svg>
  )
}

function Playhead({ picture, playback }: MovingProps): JSX.Element {
  const x = pictureX(picture, playback.value.playheadMs)
  return <path class="chain-playhead" d={`M${x} 0V${picture.height}`} />
}

interface DrawingProps {
  readonly picture: Picture
  readonly selected: Hop | undefined
  readonly onSelect: (hop: Hop) => void
}

const Drawing = memo(
  ({ picture: { bars, arrows }, selected, onSelect }: DrawingProps): JSX.Element => {
    const causes = new Set(selected?.causes)
    const stateOf = (hop: Hop): string => {
      if (selected === undefined) return ''
      if (hop.id === selected.id) return ' is-selected'
      return causes.has(hop.id) || hop.causes.includes(selected.id) ? ' is-related' : ''
    }
    return (
      <g class={selected === undefined ? '' : 'has-selection'}>
        {arrows.map((arrow, index) => (
          <ArrowPath key={index} arrow={arrow} selected={selected} />
        ))}
        {bars.map(bar => (
          <BarShape
            key={`${bar.hop.id} ${bar.type}`}
            bar={bar}
            state={stateOf(bar.hop)}
            onClick={() => onSelect(bar.hop)}
          />
        ))}
      </g>
    )
  },
  (before, after) => before.picture === after.picture && before.selected === after.selected,
)

function ArrowPath({
  arrow,
  selected,
}: {
  readonly arrow: Arrow
  readonly selected: Hop | undefined
}): JSX.Element {
  const { from, to, hop, cause } = arrow
  const isSelected = selected !== undefined && (hop.id === selected.id || cause.id === selected.id)
  const isCall = hop === cause
  const bend = Math.max(10, Math.min(40, Math.abs(to.x - from.x) / 2))
  const curve = isCall
    ? `M${from.x} ${from.y}L${to.x} ${to.y}`
    : `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`
  const head = isCall ? '' : `M${to.x - 6} ${to.y - 4}L${to.x} ${to.y}L${to.x - 6} ${to.y + 4}`
  return (
    <path
      class={`chain-arrow${isCall ? ' is-call' : ''}${isSelected ? ' is-selected' : ''}`}
      d={curve + head}
    />
  )
}

interface BarShapeProps {
  readonly bar: Bar
  readonly state: string
  readonly onClick: () => void
}

function BarShape({ bar, state, onClick }: BarShapeProps): JSX.Element {
  const { hop, type, x, y, width, label } = bar
  return (
    <g class={`chain-bar is-${type}${state}`} onClick={onClick}>
      <title>{`${describeHop(hop)}, ${formatMs(hop.endedMs - hop.startedMs)}`}</title>
      <rect x={x} y={y} width={width} height={barHeight} rx={3} />
      {label === '' ? null : (
        <text x={x + width + 6} y={y + 11}>
          {label}
        </text>
      )}
    </g>
  )
}

/** Scrolls along while the chain is played. */
function useVisiblePlayhead(
  area: { readonly current: HTMLDivElement | null },
  picture: Picture,
  playback: Signal<Playback>,
): void {
  useEffect(
    () =>
      playback.subscribe(({ playheadMs }) => {
        const element = area.current
        if (element === null || element.scrollWidth <= element.clientWidth) return
        const x = pictureX(picture, playheadMs)
        const { scrollLeft, clientWidth } = element
        if (x < scrollLeft || x > scrollLeft + clientWidth * 0.8) {
          element.scrollLeft = x - clientWidth * (x < scrollLeft ? 0.2 : 0.5)
        }
      }),
    [picture],
  )
}
