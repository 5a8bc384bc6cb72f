import assert from 'node:assert/strict'
import test from 'node:test'
import { runThreeLoops } from './three-loops.ts'

const seeds = Array.from({ length: 100 }, (_, seed) => seed)

test('a hundred seeds give a hundred traces, and no acknowledged write is lost', async () => {
  const hashes = new Set<string>()
  for (const seed of seeds) {
    const { traceHash, violations } = await runThreeLoops(seed)
    assert.deepEqual(violations, [], `seed ${seed}`)
    hashes.add(traceHash)
  }
  assert.equal(hashes.size, seeds.length)
})

test('the simulated faults occur', async () => {
  const lines: string[] = []
  for (const seed of seeds.slice(0, 10)) lines.push(...(await runThreeLoops(seed)).trace)
  const seen = (pattern: RegExp): number => lines.filter(line => pattern.test(line)).length
  assert(seen(/store: crash/) >= 30)
  for (const pattern of [
    /dropped: lost/,
    /dropped: partition/,
    /connection refused/,
    /cut watcher>store/,
    /disk sync .*interrupted$/,
    /disk sync .*interrupted when done/,
    /disk tore/,
    /EIO/,
    /lost a race/,
    /opened the store revision=\d\d/,
  ])
    assert(seen(pattern) > 0, `never seen: ${pattern}`)
})

test('a disk that loses synced data is detected', async () => {
  const found = new Set<string>()
  for (const seed of seeds.slice(0, 40)) {
    const { violations } = await runThreeLoops(seed, { disk: { ignoresSync: true } })
    for (const violation of violations) found.add(violation.replaceAll(/[/\w"-]*\d[\w",:{}/-]*/g, '?'))
  }
  const kinds = [...found].join('\n')
  for (const pattern of [
    /acknowledged .* is not there/,
    /have the same revision/,
    /does not come after/,
    /go back/,
    /watcher saw/,
    /the store failed to reopen: StoreDamagedError/,
  ])
    assert.match(kinds, pattern)
})
