import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Event } from '#/api/generated/core/v1.ts'
import { eventHeader, eventRow, sortEvents } from './event-table.ts'

const nowMs = Date.parse('2026-01-01T01:00:00Z')

function event(rest: Partial<Event>): Event {
  return {
    metadata: { name: 'e', namespace: 'shop' },
    involvedObject: { kind: 'Pod', name: 'web-0' },
    type: 'Normal',
    reason: 'Started',
    message: ' Started it\n',
    ...rest,
  }
}

test('a row tells when an event was seen, and how often', () => {
  const check = (rest: Partial<Event>, seen: string) =>
    assert.equal(
      eventRow(event(rest), { withNamespace: false, nowMs }),
      `${seen}\tNormal\tStarted\tPod/web-0\tStarted it\n`,
    )
  const [first, last] = ['2026-01-01T00:00:00Z', '2026-01-01T00:45:00Z']
  check({}, '<unknown>')
  check({ firstTimestamp: first, lastTimestamp: last, count: 1 }, '60m')
  check({ firstTimestamp: first, lastTimestamp: last, count: 3 }, '15m (x3 over 60m)')
  check({ eventTime: last }, '15m')
  check({ eventTime: first, series: { count: 7, lastObservedTime: last } }, '15m (x7 over 60m)')
})

test('the namespace is the first column on demand, and control characters are escaped', () => {
  const options = { withNamespace: true, nowMs }
  assert.equal(eventHeader(options), 'NAMESPACE\tLAST SEEN\tTYPE\tREASON\tOBJECT\tMESSAGE\n')
  assert.equal(
    eventRow(event({ message: 'a\x1b[31mb\rc' }), options),
    'shop\t<unknown>\tNormal\tStarted\tPod/web-0\ta^[[31mb\\rc\n',
  )
})

test('events are sorted by their last occurrence', () => {
  const events = [
    event({ reason: 'c', lastTimestamp: '2026-01-03T00:00:00Z' }),
    event({ reason: 'b', series: { count: 2, lastObservedTime: '2026-01-02T00:00:00Z' } }),
    event({ reason: 'none' }),
    event({ reason: 'a', eventTime: '2026-01-01T00:00:00Z' }),
  ]
  assert.deepEqual(
    sortEvents(events).map(({ reason }) => reason),
    ['none', 'a', 'b', 'c'],
  )
})
