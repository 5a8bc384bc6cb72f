import assert from 'node:assert/strict'
import test from 'node:test'
import { between, chance, LabelledRandom } from './labelled-random.ts'

test('each label, scope and seed has its own random stream', () => {
  const draws = [
    new LabelledRandom(1n, 'a').fraction('x'),
    new LabelledRandom(1n, 'a').fraction('y'),
    new LabelledRandom(1n, 'b').fraction('x'),
    new LabelledRandom(2n, 'a').fraction('x'),
    new LabelledRandom(2n ** 70n, 'a').fraction('x'),
  ]
  assert.equal(new Set(draws).size, draws.length)
})

test('an additional draw does not change other random streams', () => {
  const quiet = new LabelledRandom(7n, 'host')
  const busy = new LabelledRandom(7n, 'host')
  for (let draw = 0; draw < 10; draw++) busy.uuid('names')
  const draw = (random: LabelledRandom): number[] => [1, 2].map(() => random.integer('jitter', 1e6))
  assert.deepEqual(draw(busy), draw(quiet))
})

test('random labels may be any string', () => {
  const random = new LabelledRandom(7n, 'host')
  for (const label of ['__proto__', 'constructor', '', 'x'.repeat(10_000)]) assert(random.fraction(label) < 1)
})

test('a random UUID is of version 4 and unique', () => {
  const random = new LabelledRandom(7n, 'host')
  const uuids = Array.from({ length: 100 }, () => random.uuid('pod'))
  const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
  for (const uuid of uuids) assert.match(uuid, version4)
  assert.equal(new Set(uuids).size, 100)
})

test('chance() follows its probability', () => {
  const random = new LabelledRandom(7n, 'host')
  const strikes = (rate: number): number =>
    Array.from({ length: 1_000 }, () => chance(random, 'coin', rate)).filter(Boolean).length
  assert.equal(strikes(0), 0)
  assert.equal(strikes(1), 1_000)
  assert(Math.abs(strikes(0.5) - 500) < 80)
  assert.equal(between(random, 'range', { min: 3, max: 3 }), 3)
})
