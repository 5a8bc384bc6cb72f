import fc from 'fast-check'
import type { JsonObject } from '../../text/json-object.ts'
import { any, integer, list, map, mergedBy, mergedSet, replaced, retaining, struct, text } from './schemas.ts'

/** A small kind with a field for every merge strategy, and objects of it. */
export const thing = struct({
  count: integer,
  labels: map(text),
  atomic: list(any),
  set: mergedSet(text),
  items: mergedBy(
    'name',
    struct({
      name: text,
      value: integer,
      set: mergedSet(text),
      parts: mergedBy('id', struct({ id: integer, value: integer })),
    }),
  ),
  volumes: mergedBy('name', struct({ name: text, disk: map(text), memory: map(text) }), { retainKeys: true }),
  union: retaining(struct({ type: text, one: map(text), two: map(text) })),
  whole: replaced(struct({ a: integer, b: integer })),
})

const names = fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'constructor')
const numbers = fc.integer({ min: 0, max: 3 })
const maps = fc
  .array(fc.tuple(names, fc.constantFrom('x', 'y')), { maxLength: 3 })
  .map((entries): JsonObject => Object.fromEntries(entries))
const sets = fc.uniqueArray(names, { maxLength: 4 })

const parts = fc.uniqueArray(some({ id: numbers }, { value: numbers }), {
  maxLength: 3,
  selector: part => part.id,
})
const items = fc.uniqueArray(some({ name: names }, { value: numbers, set: sets, parts }), {
  maxLength: 4,
  selector: item => item.name,
})
const volumes = fc.uniqueArray(some({ name: names }, { disk: maps, memory: maps }), {
  maxLength: 3,
  selector: volume => volume.name,
})

export const things: fc.Arbitrary<JsonObject> = some(
  {},
  {
    count: numbers,
    labels: maps,
    atomic: fc.array(fc.oneof(numbers, maps), { maxLength: 3 }),
    set: sets,
    items,
    volumes,
    union: some({}, { type: fc.constantFrom('one', 'two'), one: maps, two: maps }),
    whole: some({}, { a: numbers, b: numbers }),
  },
)

/** Objects in which the first members are always present and the remaining ones optional. */
function some(
  always: Record<string, fc.Arbitrary<JsonObject[string]>>,
  sometimes: Record<string, fc.Arbitrary<JsonObject[string]>>,
): fc.Arbitrary<JsonObject> {
  return fc.record({ ...always, ...sometimes }, { requiredKeys: Object.keys(always), noNullPrototype: true })
}
