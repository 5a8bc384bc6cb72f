import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { Deadlines, type Deadline } from './deadlines.ts'

test('deadlines expire in order unless deleted', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { clock } = simulation.host('a')
  const deadlines = new Deadlines(clock, 1_000)
  const passed: string[] = []
  const startedMs = clock.monotonicMs()
  const add = (name: string): Deadline => {
    return deadlines.add(() => passed.push(`${name} ${clock.monotonicMs() - startedMs}`))
  }
  const script = async (): Promise<void> => {
    const first = add('first')
    add('second')
    const third = add('third')
    await clock.sleep(400)
    add('fourth')
    deadlines.delete(first)
    deadlines.delete(third)
    await clock.sleep(2_000)
    const fifth = add('fifth')
    deadlines.delete(fifth)
    add('sixth')
    await clock.sleep(1_000)
  }
  await simulation.run(script())
  assert.deepEqual(passed, ['second 1000', 'fourth 1400', 'sixth 3400'])
})
