import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import type { ShownHop } from '#/trace/group-hops.ts'
import { describeHop, formatMs, formatOffset } from '#/trace/format-trace.ts'
import type { Hop, Trace } from '#/trace/trace.ts'

export interface HopListProps {
  readonly trace: Trace
  readonly shown: readonly ShownHop[]
  readonly selected: Hop | undefined
  readonly onSelect: (hop: Hop) => void
}

const pageSize = 100
const indentMax = 8

/** The chain in words, in the order of time. */
export function HopList({ trace, shown, selected, onSelect }: HopListProps): JSX.Element {
  const count = useSignal(pageSize)
  return (
    <section class="card" aria-label="Hops">
      <h2>Hops</h2>
      <ol class="hop-list">
        {shown.slice(0, count.value).map(({ hop, more }) => (
          <li key={hop.id}>
            <button type="button" aria-pressed={hop.id === selected?.id} onClick={() => onSelect(hop)}>
              <span class="hop-offset">{formatOffset(hop.startedMs - trace.startedMs)}</span>
              <span class="hop-duration">{formatMs(hop.endedMs - hop.startedMs)}</span>
              <span class="hop-text" style={{ paddingLeft: `${Math.min(hop.depth, indentMax) * 14}px` }}>
                {describeHop(hop)}
                {more === undefined ? null : (
                  <span class="detail">
                    {' '}
                    and {more.count} alike, the last at {formatOffset(more.last.startedMs - trace.startedMs)}
                  </span>
                )}
              </span>
            </button>
          </li>
        ))}
      </ol>
      {shown.length > count.value ? (
        <button type="button" class="button" onClick={() => (count.value += pageSize)}>
          {shown.length - count.value} more
        </button>
      ) : null}
    </section>
  )
}
