import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Queue } from './queue.ts'

test('a deque behaves like an array that is pushed and spliced', () => {
  const command = fc.oneof(fc.record({ push: fc.nat() }), fc.record({ take: fc.nat(20) }))
  fc.assert(
    fc.property(fc.array(command, { maxLength: 200 }), commands => {
      const deque = new Queue<number>()
      const model: number[] = []
      for (const each of commands) {
        if ('push' in each) {
          deque.push(each.push)
          model.push(each.push)
        } else {
          assert.deepEqual(deque.take(each.take), model.splice(0, each.take))
        }
        assert.equal(deque.length, model.length)
        assert.deepEqual(
          model.map((_, index) => deque.at(index)),
          model,
        )
        assert.equal(deque.at(model.length), undefined)
      }
    }),
  )
})
