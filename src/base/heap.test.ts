import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { Heap, type HeapEntry } from './heap.ts'

const numbers = (): Heap<number> => new Heap<number>((left, right) => left - right)

test('a heap gives its values in order', () => {
  const heap = numbers()
  for (const value of [5, 1, 4, 1, 3]) heap.push(value)
  assert.equal(heap.peek(), 1)
  assert.equal(heap.size, 5)
  assert.deepEqual(drain(heap), [1, 1, 3, 4, 5])
  assert.equal(heap.pop(), undefined)
  assert.equal(heap.peek(), undefined)
})

test('removing an entry twice, or from another heap, does nothing', () => {
  const heap = numbers()
  const other = numbers()
  const entry = heap.push(1)
  other.push(2)
  assert.equal(other.remove(entry), false)
  assert.equal(heap.remove(entry), true)
  assert.equal(heap.remove(entry), false)
  assert.equal(heap.size, 0)
  assert.deepEqual(drain(other), [2])
})

test('a heap with pushes, pops and removals agrees with a sorted list', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('push' as const), at: fc.integer({ min: 0, max: 50 }) }),
    fc.record({ do: fc.constant('pop' as const), at: fc.constant(0) }),
    fc.record({ do: fc.constant('remove' as const), at: fc.nat(30) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), steps => {
      const heap = numbers()
      let model: HeapEntry<number>[] = []
      for (const { do: action, at } of steps) {
        if (action === 'push') model.push(heap.push(at))
        if (action === 'pop') {
          const least = model.length === 0 ? undefined : Math.min(...model.map(entry => entry.value))
          assert.equal(heap.pop(), least)
          model = model.filter(entry => entry.index >= 0)
        }
        const victim = action === 'remove' ? model[at] : undefined
        if (victim !== undefined) {
          assert.equal(heap.remove(victim), true)
          model = model.filter(entry => entry !== victim)
        }
        assert.equal(heap.size, model.length)
      }
      assert.deepEqual(
        drain(heap),
        model.map(entry => entry.value).sort((left, right) => left - right),
      )
    }),
    { numRuns: 100 },
  )
})

function drain(heap: Heap<number>): number[] {
  const values: number[] = []
  for (let value = heap.pop(); value !== undefined; value = heap.pop()) values.push(value)
  return values
}
