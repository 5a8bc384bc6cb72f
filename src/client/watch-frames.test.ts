import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arbitraryJson } from '#/api/text/arbitrary-json.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { stringifyJson } from '#/api/text/json.ts'
import { TransportError } from './transport.ts'
import { readWatchFrames } from './watch-frames.ts'

test('watch frames are decoded independent of how the bytes are split', async () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 })
  const lists = fc.array(arbitraryJson, { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(lists, sizes, async (values, pieceSizes) => {
      const bytes = Buffer.from(values.map(value => `${stringifyJson(value)}\n`).join(''))
      const batches = await Array.fromAsync(readWatchFrames(inPieces(bytes, pieceSizes)))
      assert.ok(batches.every(batch => batch.length > 0))
      assert.ok(equalJson(batches.flat(), values))
    }),
    { numRuns: 100 },
  )
})

test('empty lines of a watch stream are ignored', async () => {
  assert.deepEqual(await read(['\n\n{"a":1}\n', '\n', '2\n\n']), { values: [{ a: 1 }, 2], reason: undefined })
})

test('invalid or truncated JSON throws invalid-response after all valid watch events', async () => {
  assert.deepEqual(await read(['1\n2\n{nope\n3\n']), { values: [1, 2], reason: 'invalid-response' })
  assert.deepEqual(await read(['1\n{"type":"ADD']), { values: [1], reason: 'invalid-response' })
  assert.deepEqual(await read(['\u0000\n']), { values: [], reason: 'invalid-response' })
  assert.deepEqual(await read([`${'['.repeat(5_000)}${']'.repeat(5_000)}\n`]), {
    values: [],
    reason: 'invalid-response',
  })
})

test('a watch frame that exceeds the size limit is rejected', async () => {
  async function* endless(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) yield Buffer.from('x'.repeat(100))
  }
  await assert.rejects(Array.fromAsync(readWatchFrames(endless(), 10_000)), error => {
    return error instanceof TransportError && error.reason === 'too-large'
  })
})

test('__proto__ in a watch event is an ordinary key', async () => {
  const { values } = await read(['{"__proto__":{"polluted":true}}\n'])
  assert.deepEqual(Object.keys(values[0] as object), ['__proto__'])
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
})

async function* inPieces(
  bytes: Uint8Array,
  sizes: readonly number[],
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!
    yield bytes.subarray(at, at + size)
    at += size
  }
}

async function read(pieces: readonly string[]): Promise<{ values: unknown[]; reason: string | undefined }> {
  const values: unknown[] = []
  async function* source(): AsyncGenerator<Uint8Array, void, undefined> {
    for (const piece of pieces) yield Buffer.from(piece)
  }
  try {
    for await (const batch of readWatchFrames(source())) values.push(...batch)
    return { values, reason: undefined }
  } catch (error) {
    assert.ok(error instanceof TransportError)
    return { values, reason: error.reason }
  }
}
