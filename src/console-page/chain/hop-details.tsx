import type { JSX } from 'preact'
import { describeHop, formatMs, formatOffset } from '#/trace/format-trace.ts'
import type { Hop, Segment, Trace } from '#/trace/trace.ts'
import { resourceOfKind } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { Fields } from '../object/fields.tsx'
import { hrefOfObject } from '../router/router.ts'

export interface HopDetailsProps {
  readonly trace: Trace
  readonly hop: Hop
  readonly onSelect: (hop: Hop) => void
}

const causedMax = 20

/** Who did what, why, and where the time of the hop went. */
export function HopDetails({ trace, hop, onSelect }: HopDetailsProps): JSX.Element {
  const causes = trace.hops.filter(({ id }) => hop.causes.includes(id))
  const caused = trace.hops.filter(each => each.causes.includes(hop.id))
  const { actor, node, userAgent, key, revision, traceparent, clockShiftMs } = hop
  return (
    <section class="card hop-details" aria-label="Selected hop">
      <h2>{describeHop(hop)}</h2>
      <div class="hop-columns">
        <Fields
          fields={[
            ['By', node === undefined ? actor : `${actor} on ${node}`],
            ['Program', userAgent],
            ['Object', hop.object === undefined ? undefined : <ObjectLink hop={hop} />],
            ['Revision', revision],
            ['Queue key', key],
            ['At', formatOffset(hop.startedMs - trace.startedMs)],
            ['Took', formatMs(hop.endedMs - hop.startedMs)],
            ['Caused by', causes.length > 0 ? <HopLinks hops={causes} onSelect={onSelect} /> : undefined],
            ['Caused', caused.length > 0 ? <HopLinks hops={caused} onSelect={onSelect} /> : undefined],
            ['Trace context', traceparent],
            [
              'Clock',
              clockShiftMs === undefined ? undefined : `corrected by ${formatMs(Math.abs(clockShiftMs))}`,
            ],
          ]}
        />
        <Segments hop={hop} />
      </div>
    </section>
  )
}

function ObjectLink({ hop: { object } }: { readonly hop: Hop }): JSX.Element | null {
  if (object === undefined) return null
  const { namespace = '', name, kind } = object
  const resource = resourceOfKind(discovery.value.resources, object)
  const text = `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
  if (resource === undefined) return <>{text}</>
  return <a href={hrefOfObject(resource, { namespace, name })}>{text}</a>
}

interface HopLinksProps {
  readonly hops: readonly Hop[]
  readonly onSelect: (hop: Hop) => void
}

function HopLinks({ hops, onSelect }: HopLinksProps): JSX.Element {
  return (
    <ul class="plain-list">
      {hops.slice(0, causedMax).map(hop => (
        <li key={hop.id}>
          <button type="button" class="link-button" onClick={() => onSelect(hop)}>
            {describeHop(hop)}
          </button>
        </li>
      ))}
      {hops.length > causedMax ? <li class="detail">and {hops.length - causedMax} more</li> : null}
    </ul>
  )
}

/** Where the time of the hop went, as a table with bars. */
function Segments({ hop }: { readonly hop: Hop }): JSX.Element {
  const first = hop.segments.reduce((least, { startedMs }) => Math.min(least, startedMs), hop.startedMs)
  const totalMs = Math.max(0.001, hop.endedMs - first)
  return (
    <table class="table hop-segments">
      <thead>
        <tr>
          <th scope="col">Part</th>
          <th scope="col">Duration</th>
          <th scope="col">
            <span class="visually-hidden">Position</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {hop.segments.map((segment, index) => (
          <tr key={index} class={`is-${segment.kind}`}>
            <th scope="row">
              {segmentName(segment)}
              {segment.detail ? <span class="detail"> {segment.detail}</span> : null}
            </th>
            <td>{formatMs(segment.durationMs)}</td>
            <td class="hop-segment-track" aria-hidden="true">
              <span
                style={{
                  marginLeft: `${((segment.startedMs - first) / totalMs) * 100}%`,
                  width: `${Math.min(100, (segment.durationMs / totalMs) * 100)}%`,
                }}
              />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function segmentName({ kind, name }: Segment): string {
  return kind === 'gap' ? 'unexplained' : name
}
