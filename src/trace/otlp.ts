/**
 * A trace as spans of the OpenTelemetry protocol, in its JSON encoding (https://opentelemetry.io/docs/specs/otlp/): the
 * body of `POST /v1/traces`. Ids are derived from revisions, so that exporting a trace again yields the same spans.
 */
import { hash } from 'node:crypto'
import type { Hop, Segment, Trace } from './trace.ts'
import { describeHop } from './format-trace.ts'

export interface OtlpTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string }
      readonly spans: readonly OtlpSpan[]
    }[]
  }[]
}

export interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  /** Further causes. */
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[]
}

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue: string } | { readonly intValue: string }
}

/** One resource for each component and node. A span's parent is its cause, or the span that contains it. */
export function otlpTraces(trace: Trace): OtlpTraces {
  const ids = identify(trace)
  const services = Map.groupBy(trace.hops, ({ actor, node = '' }) => JSON.stringify([actor, node]))
  return {
    resourceSpans: [...services.values()].map(hops => ({
      resource: {
        attributes: [
          text('service.name', hops[0]?.actor ?? ''),
          ...(hops[0]?.node === undefined ? [] : [text('k8s.node.name', hops[0].node)]),
        ],
      },
      scopeSpans: [{ scope: { name: 'k8ts' }, spans: hops.flatMap(hop => spansOf(hop, ids)) }],
    })),
  }
}

interface TraceIds {
  readonly traceId: string
  readonly spanIdOf: (id: string) => string
  /** The client's own span. */
  readonly clientSpanId: string | undefined
}

function identify({ root }: Trace): TraceIds {
  const seed = `${root.object?.uid ?? ''} ${root.id}`
  const [, clientTraceId, clientSpanId] = root.traceparent?.split('-') ?? []
  return {
    traceId: clientTraceId ?? hash('sha256', seed).slice(0, 32),
    spanIdOf: id => hash('sha256', `${seed} ${id}`).slice(0, 16),
    clientSpanId,
  }
}

const spanKindInternal = 1
const spanKindServer = 2

function spansOf(hop: Hop, { traceId, spanIdOf, clientSpanId }: TraceIds): readonly OtlpSpan[] {
  const spanId = spanIdOf(hop.id)
  const parentSpanId = hop.parent === undefined ? clientSpanId : spanIdOf(hop.parent)
  const others = hop.causes.filter(cause => cause !== hop.parent)
  const spans: OtlpSpan[] = [
    {
      traceId,
      spanId,
      ...(parentSpanId && { parentSpanId }),
      name: describeHop(hop),
      kind: hop.type === 'write' && hop.passId === undefined ? spanKindServer : spanKindInternal,
      // The wait for the watch event comes before the hop, and its span inside the hop's.
      ...interval(Math.min(hop.startedMs, hop.segments[0]?.startedMs ?? hop.startedMs), hop.endedMs),
      attributes: hopAttributes(hop),
      ...(others.length > 0 && { links: others.map(cause => ({ traceId, spanId: spanIdOf(cause) })) }),
    },
  ]
  const containers: Record<string, string> = { step: spanId, stage: spanId }
  for (const [index, segment] of hop.segments.entries()) {
    const id = spanIdOf(`${hop.id} ${index}`)
    spans.push(
      segmentSpan(segment, { traceId, spanId: id, parentSpanId: containers[segment.kind] ?? spanId }),
    )
    if (segment.kind === 'pass') containers['step'] = id
    if (segment.kind === 'request') containers['stage'] = id
  }
  return spans
}

function segmentSpan(segment: Segment, ids: Pick<OtlpSpan, 'traceId' | 'spanId' | 'parentSpanId'>): OtlpSpan {
  const { kind, name, detail, startedMs, durationMs } = segment
  return {
    ...ids,
    name: kind === 'gap' ? 'gap' : name,
    kind: spanKindInternal,
    ...interval(startedMs, startedMs + durationMs),
    attributes: detail === undefined ? [] : [text('k8ts.detail', detail)],
  }
}

function hopAttributes({ object, verb, subresource, revision, userAgent, node }: Hop): readonly Attribute[] {
  return [
    ...(object === undefined
      ? []
      : [
          text('k8s.object.kind', object.kind),
          text('k8s.object.name', object.name),
          text('k8s.object.uid', object.uid),
          ...(object.namespace === undefined ? [] : [text('k8s.namespace.name', object.namespace)]),
        ]),
    ...(verb === undefined ? [] : [text('k8ts.verb', verb)]),
    ...(subresource === undefined ? [] : [text('k8ts.subresource', subresource)]),
    ...(revision === undefined ? [] : [{ key: 'k8ts.revision', value: { intValue: String(revision) } }]),
    ...(userAgent === undefined ? [] : [text('user_agent.original', userAgent)]),
    ...(node === undefined ? [] : [text('k8s.node.name', node)]),
  ]
}

function text(key: string, stringValue: string): Attribute {
  return { key, value: { stringValue } }
}

function interval(
  startedMs: number,
  endedMs: number,
): Pick<OtlpSpan, 'startTimeUnixNano' | 'endTimeUnixNano'> {
  return {
    startTimeUnixNano: nanoseconds(startedMs),
    endTimeUnixNano: nanoseconds(Math.max(startedMs, endedMs)),
  }
}

/** Milliseconds times a million exceed the integers of a number. */
function nanoseconds(ms: number): string {
  const microseconds = Math.round(ms * 1_000)
  return String(BigInt(microseconds) * 1_000n)
}
