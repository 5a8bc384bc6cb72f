import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import { sortBy } from './sort-by.ts'

/** The positions of the keys in order; an item without a key is undefined. */
function order(keys: readonly (JsonValue | undefined)[], path = '{.k}'): readonly number[] {
  const items = keys.map((k, position) => {
    const object: JsonValue = k === undefined ? {} : { k }
    return { position, object }
  })
  const sorted = sortBy(items, {
    path,
    objectOf: ({ object }) => object,
    holder: '*unstructured.Unstructured',
  })
  return sorted.map(({ position }) => position)
}

/** Recorded from kubectl. */
const orders: readonly (readonly [keys: readonly (JsonValue | undefined)[], order: readonly number[]])[] = [
  [
    [3, 1, 2],
    [1, 2, 0],
  ],
  [
    ['b', 'a', 'B', 'a-10', 'a-9'],
    [2, 1, 3, 4, 0],
  ],
  [
    ['10', '9', '1Ki', '500m'],
    [3, 1, 0, 2],
  ],
  [
    ['10', '9', 'x'],
    [1, 0, 2],
  ],
  [
    [2.5, 0.5, 1e21],
    [1, 0, 2],
  ],
  [
    ['2024-05-01T00:00:00Z', '2023-01-01T00:00:00Z'],
    [1, 0],
  ],
  [
    [2, undefined, 1, undefined],
    [3, 1, 2, 0],
  ],
  [
    ['b', null, 'a', null],
    [1, 3, 2, 0],
  ],
  [
    [12345678901234, -1, 0],
    [1, 2, 0],
  ],
  [
    ['é', 'z', '😀', '￮'],
    [1, 0, 3, 2],
  ],
]

test('items are sorted by numbers, quantities or text, those without a key first', () => {
  for (const [keys, expected] of orders) assert.deepEqual(order(keys), expected)
})

test('a field that is in no object is an error', () => {
  const message = 'couldn\'t find any field with path "{.missing}" in the list of objects'
  assert.throws(() => order([1, 2], '{.missing}'), { message })
  assert.deepEqual(order([], '{.missing}'), [])
})

test('values without an order are an error', () => {
  const messageOf = (reason: string) => {
    return {
      message: `Field {.k} in *unstructured.Unstructured is an unsortable type: interface, err: ${reason}`,
    }
  }
  assert.throws(() => order([{ a: 1 }, {}]), messageOf('unsortable type: map[string]interface {}'))
  assert.throws(() => order([[1], [2]]), messageOf('unsortable type: []interface {}'))
  assert.throws(() => order([true, false]), messageOf('unsortable type: bool'))
  assert.throws(() => order([1, 'a']), messageOf('unsortable interface: interface'))
  assert.throws(() => order([1, 1.5]), messageOf('unsortable interface: interface'))
})
