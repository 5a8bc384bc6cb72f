/**
 * Fuzzes the API server with a hundred thousand requests with arbitrary paths, headers, tokens, certificates
 * and bodies: no response is a 500, nothing is thrown, and no access is granted without authorization. One
 * seed is one input; `FUZZ_SEED=4711 node --test tests/security/fuzz.test.ts` runs it alone.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inWorker } from './in-worker.ts'

const run = new URL('fuzz/run-fuzz.ts', import.meta.url)
const inputs = 100_000

test('a hundred thousand fuzzed requests disclose no object and cause no server error', async () => {
  const seed = Number(process.env.FUZZ_SEED ?? -1)
  const parts =
    seed >= 0
      ? [{ from: seed, to: seed + 1 }]
      : [
          { from: 0, to: inputs / 2 },
          { from: inputs / 2, to: inputs },
        ]
  const played = await Promise.all(parts.map(part => inWorker<number>(run, part)))
  assert.equal(
    played.reduce((sum, count) => sum + count, 0),
    seed >= 0 ? 1 : inputs,
  )
})
