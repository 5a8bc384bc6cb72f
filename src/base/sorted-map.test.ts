import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SortedMap } from './sorted-map.ts'

test('a sorted map behaves like a plain map whose keys are sorted on every read', () => {
  const command = fc.tuple(fc.constantFrom('set', 'delete'), fc.integer({ min: 0, max: 2_000 }))
  fc.assert(
    fc.property(
      fc.array(command, { maxLength: 3_000, size: 'max' }),
      fc.integer({ min: 0, max: 2_000 }),
      (commands, probe) => {
        const map = new SortedMap<number>()
        const model = new Map<string, number>()
        for (const [action, number] of commands) {
          const key = name(number)
          if (action === 'set') {
            map.set(key, number)
            model.set(key, number)
          } else {
            assert.equal(map.delete(key), model.delete(key))
          }
        }
        const keys = [...model.keys()].sort()
        const from = name(probe)
        assert.equal(map.size, model.size)
        assert.equal(map.get(from), model.get(from))
        assert.equal(map.rank(from), keys.filter(key => key < from).length)
        assert.deepEqual(
          [...map.valuesFrom(from)],
          keys.filter(key => key >= from).map(key => model.get(key)),
        )
      },
    ),
    { numRuns: 30 },
  )
})

test('keys inserted in order are found', () => {
  const map = new SortedMap<number>()
  for (let number = 0; number < 5_000; number++) map.set(name(number), number)
  assert.equal(map.size, 5_000)
  assert.equal(map.rank(name(4_321)), 4_321)
  assert.deepEqual([...map.valuesFrom(name(4_998))], [4_998, 4_999])
})

function name(number: number): string {
  return `/registry/pods/${String(number).padStart(5, '0')}`
}
