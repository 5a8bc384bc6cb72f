import assert from 'node:assert/strict'
import test from 'node:test'
import { SeededRandom } from './seeded-random.ts'

test('a seed gives the same stream on every machine', () => {
  const random = new SeededRandom('7')
  assert.deepEqual([random.integer(1_000), random.integer(1_000)], [144, 534])
  assert.equal(random.fraction(), 0.8282080085725695)
  assert.equal(Buffer.from(random.bytes(5)).toString('hex'), '880f608350')
})

test('seeds that differ in one character give different streams', () => {
  const firsts = Array.from({ length: 1_000 }, (_, seed) => new SeededRandom(`seed ${seed}`).fraction())
  assert.equal(new Set(firsts).size, 1_000)
})

test('draws stay within their bounds and are spread evenly', () => {
  const random = new SeededRandom('spread')
  const counts = Array.from({ length: 10 }, () => 0)
  for (let draw = 0; draw < 20_000; draw++) {
    const index = random.integer(10)
    counts[index] = (counts[index] ?? 0) + 1
    const fraction = random.fraction()
    assert(fraction >= 0 && fraction < 1)
  }
  assert.equal(counts.length, 10)
  for (const count of counts) assert(Math.abs(count - 2_000) < 250, `counts are ${counts.join(' ')}`)
})

test('every bit of the bytes varies', () => {
  const bytes = new SeededRandom('bits').bytes(4_001)
  assert.equal(bytes.length, 4_001)
  for (let bit = 0; bit < 8; bit++) {
    const share: number = bytes.reduce((sum, byte) => sum + ((byte >> bit) & 1), 0) / bytes.length
    assert(Math.abs(share - 0.5) < 0.05, `bit ${bit} is set in ${share}`)
  }
})

test('an invalid bound of a random integer is rejected', () => {
  for (const below of [0, -1, 1.5, Number.NaN, Infinity, 2 ** 60]) {
    assert.throws(() => new SeededRandom('').integer(below), /cannot draw/)
  }
  assert.equal(new SeededRandom('').integer(1), 0)
})
