import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { encodeMark, markFile, readMark, type Mark } from './mark.ts'

test('the newest of two marks is the one with the higher revision, or further in the log', async () => {
  const check = async (left: Partial<Mark>, right: Partial<Mark>, expected: Partial<Mark>): Promise<void> => {
    const simulation = new Simulation({ seed: 1 })
    const { files } = simulation.host('a')
    const paths = ['/left', '/right']
    for (const [index, mark] of [left, right].entries())
      await simulation.run(files.write(paths[index]!, markFile(encodeMark(markOf(mark)))))
    const { revision, segment, positionBytes } = (await simulation.run(readMark(files, paths)))!
    assert.deepEqual({ ...markOf({}), revision, segment, positionBytes }, markOf(expected))
  }
  await check({ revision: 5 }, { revision: 6 }, { revision: 6 })
  await check({ revision: 6 }, { revision: 5 }, { revision: 6 })
  // A compaction has no revision of its own.
  await check({ positionBytes: 900 }, { positionBytes: 800 }, { positionBytes: 900 })
  await check({ segment: 2 }, { segment: 3, positionBytes: 512 }, { segment: 3, positionBytes: 512 })
  // A repair begins again with the first segment.
  const repaired = { segment: 1, revision: 1_000_000_005 }
  await check({ segment: 7, revision: 5 }, repaired, repaired)
})

function markOf(given: Partial<Mark>): Mark {
  const storeId = '00000000-0000-0000-0000-000000000001'
  return { storeId, revision: 5, segment: 2, positionBytes: 600, chain: Buffer.alloc(32), ...given }
}
