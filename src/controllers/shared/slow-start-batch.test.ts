import assert from 'node:assert/strict'
import { test } from 'node:test'
import { slowStartBatch } from './slow-start-batch.ts'

/** Sizes of the batches; each completes before the next starts. */
async function batchesOf(
  count: number,
  failing: ReadonlySet<number> = new Set(),
): Promise<[number[], unknown]> {
  const batches: number[] = []
  let underWay = 0
  const { succeeded, error } = await slowStartBatch(count, async index => {
    if (underWay++ === 0) batches.push(0)
    batches[batches.length - 1]!++
    await Promise.resolve()
    underWay--
    if (failing.has(index)) throw new Error(`no ${index}`)
  })
  return [batches, error instanceof Error ? `${succeeded}, ${error.message}` : succeeded]
}

test('slow start batches double until done or until one fails', async () => {
  const check = async (
    count: number,
    failing: number[],
    sizes: number[],
    outcome: unknown,
  ): Promise<void> => {
    assert.deepEqual(await batchesOf(count, new Set(failing)), [sizes, outcome])
  }
  await check(0, [], [], 0)
  await check(1, [], [1], 1)
  await check(10, [], [1, 2, 4, 3], 10)
  await check(500, [0], [1], '0, no 0')
  await check(10, [1], [1, 2], '2, no 1')
  await check(10, [4, 5], [1, 2, 4], '5, no 4')
})
