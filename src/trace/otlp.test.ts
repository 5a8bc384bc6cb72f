import assert from 'node:assert/strict'
import { test } from 'node:test'
import { otlpTraces, type OtlpSpan } from './otlp.ts'
import { planTrace } from './plan-trace.ts'
import { epochMs, rolloutRecords, write } from './test-records.ts'
import type { Trace } from './trace.ts'

test('ids of traces have 16 bytes, those of spans 8, unique, and every parent is a span of the trace', () => {
  const spans = spansOf(rollout())
  assert.equal(new Set(spans.map(({ traceId }) => traceId)).size, 1)
  assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length)
  for (const { traceId, spanId, parentSpanId } of spans) {
    assert.match(traceId, /^[0-9a-f]{32}$/)
    assert.match(spanId, /^[0-9a-f]{16}$/)
    if (parentSpanId !== undefined) assert.ok(spans.some(span => span.spanId === parentSpanId))
  }
  assert.equal(
    spans.filter(({ parentSpanId }) => parentSpanId === undefined).length,
    1,
    'only the root has none',
  )
})

test("a span's parent is the hop that caused it, and further causes are links", () => {
  const spans = spansOf(rollout())
  const byName = (name: string): OtlpSpan => {
    const found = spans.find(span => span.name.includes(name))
    assert.ok(found, name)
    return found
  }
  assert.equal(byName('create ReplicaSet').parentSpanId, byName('create Deployment').spanId)
  assert.equal(byName('kube-proxy on node-1').parentSpanId, byName('create EndpointSlice').spanId)
  assert.equal(
    byName('pull').parentSpanId,
    spans.find(({ name, parentSpanId }) => {
      return name === 'pass' && parentSpanId === byName('Pod/status shop/web-1-a @105').spanId
    })?.spanId,
  )
})

test('spans are inside their parents when these contain them, and never end before they start', () => {
  const spans = new Map(spansOf(rollout()).map(span => [span.spanId, span]))
  for (const span of spans.values()) {
    assert.ok(nanoseconds(span.endTimeUnixNano) >= nanoseconds(span.startTimeUnixNano))
    if (span.name.includes(':')) continue
    const parent = spans.get(span.parentSpanId ?? '')
    assert.ok(
      parent && nanoseconds(parent.startTimeUnixNano) <= nanoseconds(span.startTimeUnixNano),
      span.name,
    )
    assert.ok(nanoseconds(parent.endTimeUnixNano) >= nanoseconds(span.endTimeUnixNano), span.name)
  }
})

test('times are nanoseconds since 1970', () => {
  const [root] = spansOf(rollout())
  assert.equal(root?.startTimeUnixNano, `${epochMs}000000`)
  assert.equal(root?.endTimeUnixNano, `${epochMs + 8}000000`)
})

test('exporting a trace again yields the same spans', () => {
  assert.deepEqual(otlpTraces(rollout()), otlpTraces(rollout()))
})

test('components are services, and their nodes resource attributes', () => {
  const { resourceSpans } = otlpTraces(rollout())
  const resources = resourceSpans.map(({ resource }) => {
    return resource.attributes.map(({ key, value }) => `${key}=${Object.values(value)[0]}`).join(' ')
  })
  assert.ok(resources.includes('service.name=kubelet k8s.node.name=node-1'))
  assert.ok(resources.includes('service.name=alice'))
})

test("the client's trace goes on", () => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const create = write(1, 'alice', 'create Deployment shop/web', {
    at: 1,
    traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
  })
  const spans = spansOf(planned([create]))
  assert.ok(spans.every(span => span.traceId === traceId))
  assert.equal(spans[0]?.parentSpanId, '00f067aa0ba902b7')
})

function spansOf(trace: Trace): readonly OtlpSpan[] {
  return otlpTraces(trace).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
}

function rollout(): Trace {
  return planned(rolloutRecords().writes, rolloutRecords().passes)
}

function planned(
  writes: Parameters<typeof planTrace>[0]['writes'],
  passes: Parameters<typeof planTrace>[0]['passes'] = [],
): Trace {
  const target = { kind: 'Deployment', apiVersion: 'apps/v1', namespace: 'shop', name: 'web' }
  const trace = planTrace({ writes, passes, target })
  assert.ok(trace)
  return trace
}

function nanoseconds(text: string): bigint {
  return BigInt(text)
}
