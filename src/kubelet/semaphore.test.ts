import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { Semaphore } from './semaphore.ts'

test('the semaphore bounds concurrency in order, also after failures', async () => {
  const slots = new Semaphore(2)
  const begun: number[] = []
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<number>())
  const works = ends.map(({ promise }, index) => {
    return slots.use(() => {
      begun.push(index)
      return promise
    })
  })
  const { clock } = nodePlatform({ log: { level: 'error', format: 'text' } })
  const settled = (): Promise<void> => clock.turn()
  await settled()
  assert.deepEqual(begun, [0, 1])
  ends[1]!.reject(new Error('it failed'))
  await assert.rejects(works[1]!, /it failed/)
  await settled()
  assert.deepEqual(begun, [0, 1, 2])
  ends[0]!.resolve(0)
  ends[2]!.resolve(2)
  await settled()
  assert.deepEqual(begun, [0, 1, 2, 3, 4])
  ends[3]!.resolve(3)
  ends[4]!.resolve(4)
  assert.equal(await works[4], 4)
  assert.equal(await slots.use(async () => 'free again'), 'free again')
})
