import fc from 'fast-check'
import type { JsonValue } from '../../text/json-value.ts'

const keys = fc.constantFrom(
  'a',
  'b',
  'c',
  '',
  '0',
  '-',
  'x/y',
  '~',
  '~1',
  '__proto__',
  'constructor',
  'toString',
)
const scalars = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.boolean(),
  fc.constantFrom('', 'a', 'b', 'é'),
  fc.constantFrom(2n ** 60n, 2n ** 60n + 1n),
)

const scalarsAndNull = fc.oneof(
  { weight: 5, arbitrary: scalars },
  { weight: 1, arbitrary: fc.constant(null) },
)

/** JSON values from few names and scalars, so that any two have much in common. */
export const values = valuesOf(scalarsAndNull)

/** Without null, which a merge patch cannot set. */
export const valuesWithoutNull = valuesOf(scalars)

/** Values with null only as a member of objects: in lists it has no meaning in a patch. */
export const valuesWithNullMembers = valuesOf(scalarsAndNull, fc.array(valuesWithoutNull, { maxLength: 4 }))

function valuesOf(
  leaves: fc.Arbitrary<JsonValue>,
  lists?: fc.Arbitrary<JsonValue[]>,
): fc.Arbitrary<JsonValue> {
  return fc.letrec<{ value: JsonValue }>(tie => ({
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      leaves,
      lists ?? fc.array(tie('value'), { maxLength: 4 }),
      fc.array(fc.tuple(keys, tie('value')), { maxLength: 4 }).map(entries => Object.fromEntries(entries)),
    ),
  })).value
}

/** Nested objects. */
export function nested(levels: number): JsonValue {
  let value: JsonValue = 1
  for (let level = 0; level < levels; level++) value = { a: value }
  return value
}
