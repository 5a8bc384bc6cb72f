import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Event } from '../../generated/core/v1.ts'
import { coreRules } from '../core/group.ts'
import { underTest } from '../testdata/check-rules.ts'
import { conversions } from './conversion.ts'
import { eventRules } from './event.ts'

const old = underTest(coreRules['Event'])
const strict = underTest(eventRules)

const involvedObject = { kind: 'Pod', namespace: 'default', name: 'web' }
const time = '2026-01-01T00:00:00.000000Z'

function event(change: Partial<Event>): Event {
  return { metadata: { name: 'e1', namespace: 'default' }, involvedObject, ...change }
}

function newEvent(change: Partial<Event>): Event {
  return event({
    eventTime: time,
    reportingComponent: 'example.com/a',
    reportingInstance: 'a-1',
    action: 'Binding',
    reason: 'Scheduled',
    type: 'Normal',
    ...change,
  })
}

test('an Event must be in the namespace of its involved object', () => {
  const mismatch = 'involvedObject.namespace: Invalid value: '
  old.check(event({}))
  old.check(event({ involvedObject: { kind: 'Node' } }))
  old.check(
    event({ involvedObject: { namespace: 'other' } }),
    `${mismatch}"other": does not match event.namespace`,
  )
  old.check(
    event({ involvedObject: {}, metadata: { namespace: 'kube-system' } }),
    `${mismatch}"": does not match`,
  )
  old.check(newEvent({ involvedObject: {}, metadata: { namespace: 'kube-system' } }))
  old.check(
    newEvent({ involvedObject: {}, metadata: { namespace: 'mine' } }),
    `${mismatch}"": does not match`,
  )
})

test('an Event with eventTime requires reporting controller, action and reason', () => {
  old.check(newEvent({}))
  old.check(
    event({ eventTime: time }),
    'reportingComponent: Required value',
    'reportingComponent: Invalid value: "": name part must be non-empty',
    'reportingComponent: Invalid value: "": name part must consist of',
    'reportingInstance: Required value',
    'action: Required value',
    'reason: Required value',
  )
  old.check(
    newEvent({ reason: 'x'.repeat(129), message: 'é'.repeat(513) }),
    'reason: Invalid value: "": can have at most 128 characters',
    'message: Invalid value: "": can have at most 1024 characters',
  )
})

test('events.k8s.io requires more fields than core', () => {
  strict.check(newEvent({}))
  strict.check(event({ type: 'Normal' }), 'eventTime: Required value')
  strict.check(newEvent({ reportingComponent: 'a b' }), 'reportingController: Invalid value: "a b"')
  const former = { count: 1, firstTimestamp: 't', lastTimestamp: 't', source: { host: 'a' } }
  strict.check(
    newEvent({ type: 'Any', ...former }),
    'type: Invalid value: "": has invalid value: Any',
    'firstTimestamp: Invalid value: "": needs to be unset',
    'lastTimestamp: Invalid value: "": needs to be unset',
    'count: Invalid value: "": needs to be unset',
    'source: Invalid value: "": needs to be unset',
  )
  strict.check(
    newEvent({ series: { count: 1 } }),
    'series.count: Invalid value: "": should be at least 2',
    'series.lastObservedTime: Required value',
  )
})

test('in events.k8s.io only the series of an Event is mutable', () => {
  const series = { count: 2, lastObservedTime: time }
  strict.checkUpdate(newEvent({ series }), newEvent({}))
  strict.checkUpdate(newEvent({ series: { count: 1 } }), newEvent({ series: { count: 1 } }))
  strict.checkUpdate(
    newEvent({ reason: 'b', reportingComponent: 'b' }),
    newEvent({}),
    'reason: Invalid value: "b": field is immutable',
    'reason: Invalid value: "b": field is immutable',
    'reportingController: Invalid value: "b": field is immutable',
  )
  old.checkUpdate(newEvent({ reason: 'b' }), newEvent({}))
})

test('Event converts between core and events.k8s.io without loss', () => {
  const stored = {
    apiVersion: 'v1',
    kind: 'Event',
    ...newEvent({
      message: 'm',
      source: { component: 'c' },
      count: 3,
      firstTimestamp: 't1',
      lastTimestamp: 't2',
      related: { name: 'r' },
      series: { count: 2, lastObservedTime: time },
    }),
  }
  const toCore = conversions['events.k8s.io/v1 v1 Event']
  const shown = conversions['v1 events.k8s.io/v1 Event']?.(stored as never)
  assert.deepEqual(shown, {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: stored.metadata,
    regarding: involvedObject,
    note: 'm',
    deprecatedSource: { component: 'c' },
    deprecatedCount: 3,
    deprecatedFirstTimestamp: 't1',
    deprecatedLastTimestamp: 't2',
    related: { name: 'r' },
    series: stored.series,
    eventTime: time,
    reportingController: 'example.com/a',
    reportingInstance: 'a-1',
    action: 'Binding',
    reason: 'Scheduled',
    type: 'Normal',
  })
  assert.deepEqual(toCore?.(shown as never), stored)
  const bare = { apiVersion: 'events.k8s.io/v1', kind: 'Event', metadata: {} }
  assert.deepEqual(toCore?.(bare as never), {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {},
    involvedObject: {},
  })
})

test('Events can be selected by involved object', () => {
  const fields = eventRules.selectableFields ?? {}
  const values = Object.entries(fields).map(([name, valueOf]) => [name, valueOf(newEvent({}))])
  assert.deepEqual(Object.fromEntries(values), {
    'regarding.kind': 'Pod',
    'regarding.namespace': 'default',
    'regarding.name': 'web',
    'regarding.uid': '',
    'regarding.apiVersion': '',
    'regarding.resourceVersion': '',
    'regarding.fieldPath': '',
    'reason': 'Scheduled',
    'reportingController': 'example.com/a',
    'type': 'Normal',
  })
})
