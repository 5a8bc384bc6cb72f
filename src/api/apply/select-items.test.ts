import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deepFreeze, type JsonValue } from '../text/json-value.ts'
import { fieldSet } from './field-set.ts'
import { extractItems, removeItems } from './select-items.ts'
import { customSchema, deploymentSchema } from './testdata/schemas.ts'

/** A set from paths written with spaces between their elements. */
function set(...texts: readonly string[]) {
  return fieldSet(texts.map(text => text.split(' ')))
}

const conditionA: JsonValue = { type: 'A', status: '1' }
const conditionB: JsonValue = { type: 'B', status: '2', reason: 'r' }
const object = deepFreeze({
  metadata: { labels: { a: '1', b: '2' }, finalizers: ['x', 'y'] },
  spec: { replicas: 1, selector: { matchLabels: { a: '1' } } },
  status: { conditions: [conditionA, conditionB] },
})

function checkRemoved(paths: readonly string[], expected: JsonValue | undefined): void {
  assert.deepEqual(removeItems(deploymentSchema, object, set(...paths)), expected)
}

function checkExtracted(paths: readonly string[], expected: JsonValue | undefined): void {
  assert.deepEqual(extractItems(deploymentSchema, object, set(...paths)), expected)
}

test('removeItems removes items and empty parents', () => {
  const { metadata, spec, status } = object
  checkRemoved(['f:spec f:replicas'], { ...object, spec: { selector: spec.selector } })
  checkRemoved(['f:spec'], { metadata, status })
  checkRemoved(['f:metadata f:labels f:a', 'f:metadata f:labels f:b'], {
    ...object,
    metadata: { finalizers: ['x', 'y'] },
  })
  checkRemoved(['f:metadata f:finalizers v:"x"'], { ...object, metadata: { ...metadata, finalizers: ['y'] } })
  checkRemoved(['f:status f:conditions k:{"type":"A"}'], { ...object, status: { conditions: [conditionB] } })
  checkRemoved(['f:status f:conditions k:{"type":"A"} f:status'], {
    ...object,
    status: { conditions: [{ type: 'A' }, conditionB] },
  })
  checkRemoved(['f:metadata', 'f:spec', 'f:status'], undefined)
})

test('removeItems returns the same object if nothing matches', () => {
  const removed = removeItems(
    deploymentSchema,
    object,
    set(
      'f:x',
      'f:spec f:paused',
      'f:status f:conditions k:{"type":"C"}',
      'f:metadata f:finalizers v:"z"',
      'f:spec f:replicas f:deep',
      'f:spec f:selector f:matchLabels',
    ),
  )
  assert.equal(removed, object)
})

test('extractItems keeps the keys of extracted items', () => {
  checkExtracted(['f:spec f:replicas'], { spec: { replicas: 1 } })
  checkExtracted(['f:spec f:selector'], { spec: { selector: object.spec.selector } })
  checkExtracted(['f:metadata f:labels f:b', 'f:metadata f:finalizers v:"y"'], {
    metadata: { labels: { b: '2' }, finalizers: ['y'] },
  })
  checkExtracted(['f:status f:conditions k:{"type":"B"} f:reason'], {
    status: { conditions: [{ type: 'B', reason: 'r' }] },
  })
  checkExtracted(['f:status f:conditions k:{"type":"B"}'], { status: { conditions: [conditionB] } })
  checkExtracted(['f:spec f:paused'], undefined)
})

test('selecting items treats keys like __proto__ as ordinary keys', () => {
  const hostile = deepFreeze(JSON.parse('{"anything":{"__proto__":{"a":1},"x":1}}')) as JsonValue
  const items = set('f:anything f:__proto__')
  assert.deepEqual(removeItems(customSchema, hostile, items), { anything: { x: 1 } })
  assert.equal(
    JSON.stringify(extractItems(customSchema, hostile, items)),
    '{"anything":{"__proto__":{"a":1}}}',
  )
  assert.deepEqual(removeItems(customSchema, { anything: { x: 1 } }, items), { anything: { x: 1 } })
})
