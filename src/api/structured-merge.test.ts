import assert from 'node:assert/strict'
import { test } from 'node:test'
import { structDefinition } from './definitions.ts'
import type { JsonValue } from './text/json-value.ts'
import { StructuredMergeError, applyStructuredMerge } from './structured-merge.ts'

const schema = structDefinition('core.v1.Pod')

type JsonObject = { [name: string]: JsonValue }

function check(live: JsonObject, configuration: JsonObject, expected: JsonObject | RegExp): void {
  if (expected instanceof RegExp) {
    assert.throws(
      () => applyStructuredMerge(live, configuration, schema),
      error => error instanceof StructuredMergeError && expected.test(error.message),
    )
  } else assert.deepEqual(applyStructuredMerge(live, configuration, schema), expected)
}

test('structured merge applies a configuration, keyed lists per item', () => {
  const containers = [
    { name: 'a', image: 'x' },
    { name: 'b', image: 'y' },
  ]
  check(
    { spec: { containers } },
    { spec: { containers: [{ name: 'b', tty: true }] } },
    { spec: { containers: [containers[0]!, { name: 'b', image: 'y', tty: true }] } },
  )
  check(
    { metadata: { labels: { a: '1' } } },
    { metadata: { labels: { b: '2' } } },
    {
      metadata: { labels: { a: '1', b: '2' } },
    },
  )
  const live = { spec: { containers } }
  assert.equal(applyStructuredMerge(live, { spec: {} }, schema), live)
  const hostile = JSON.parse('{"metadata":{"labels":{"__proto__":"x","constructor":"y"}}}') as JsonObject
  const merged = applyStructuredMerge({ metadata: { labels: { a: '1' } } }, hostile, schema)
  assert.deepEqual(Object.entries((merged['metadata'] as { labels: JsonObject }).labels), [
    ['a', '1'],
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ])
})

test('structured merge rejects invalid configurations and atomic values', () => {
  check(
    {},
    { spec: { nothing: 1 } },
    /^failed to convert patch object .*\.spec\.nothing: field not declared/u,
  )
  check({}, { spec: { hostNetwork: 'x' } }, /^failed to convert patch object .*expected boolean/u)
  check(
    {},
    { spec: { containers: [{ name: 'a', args: ['x'], command: ['y'] }], nodeSelector: { a: 'b' } } },
    /^invalid ApplyConfiguration: may not mutate atomic .*: .*\[0\]\.args, .*\[0\]\.command, \.spec\.nodeSelector$/u,
  )
})
