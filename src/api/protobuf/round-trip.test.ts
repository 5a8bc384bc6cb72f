import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DecodeError } from '../decoding/decode-error.ts'
import { definition, definitionNames, kindsOf } from '../definitions.ts'
import { equalJson } from '../text/json-value.ts'
import { decodeProtobuf, encodeProtobuf } from '../protobuf.ts'
import { ObjectDrawer } from './testdata/draw-object.ts'

/** Definitions of all kinds, including lists. */
const kinds = definitionNames().filter(name => definition(name).type === 'struct' && kindsOf(name).length > 0)

test('objects of every kind round trip through protobuf', () => {
  assert.ok(kinds.length > 150)
  for (const kind of kinds) {
    fc.assert(
      fc.property(fc.gen(), draw => {
        const object = new ObjectDrawer(draw, 'exact').object(kind)
        const back = decodeProtobuf(encodeProtobuf(object))
        if (!equalJson(back, object)) assert.deepEqual(back, object)
      }),
      { numRuns: 8 },
    )
  }
})

test('a second round trip through protobuf is the identity', () => {
  for (const kind of kinds) {
    fc.assert(
      fc.property(fc.gen(), draw => {
        const bytes = encodeProtobuf(new ObjectDrawer(draw, 'loose').object(kind))
        assert.deepEqual(encodeProtobuf(decodeProtobuf(bytes)), bytes)
      }),
      { numRuns: 6 },
    )
  }
})

test('corrupted bytes decode to an object or throw DecodeError', () => {
  fc.assert(
    fc.property(fc.gen(), fc.constantFrom(...kinds), (draw, kind) => {
      const bytes = Uint8Array.from(encodeProtobuf(new ObjectDrawer(draw, 'loose').object(kind)))
      const change = fc.tuple(fc.nat(bytes.length - 1), fc.nat(255))
      for (const [at, byte] of draw(fc.array, change, { minLength: 1, maxLength: 5 })) bytes[at] = byte
      decodeOrRefuse(bytes)
      decodeOrRefuse(bytes.subarray(0, draw(fc.nat, bytes.length)))
    }),
    { numRuns: 300 },
  )
})

function decodeOrRefuse(bytes: Uint8Array): void {
  try {
    const object = decodeProtobuf(bytes)
    assert.ok(encodeProtobuf(object).length > 0)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
  }
}
