import assert from 'node:assert/strict'
import { test } from 'node:test'
import { turn } from './node/turn.ts'
import type { Clock } from './platform.ts'
import { TimeSlices } from './time-slices.ts'

/** Each reading of the clock takes a millisecond; turns are counted. */
function countingClock() {
  const state = { nowMs: 0, turns: 0 }
  const clock = {
    monotonicMs: () => state.nowMs++,
    turn: async () => {
      await turn()
      state.turns++
    },
  } as unknown as Clock
  return { state, clock }
}

test('work is paused when its slice is over, and goes on in another turn', async () => {
  const { state, clock } = countingClock()
  const slices = new TimeSlices(clock)
  assert.equal(slices.pause(), undefined)
  state.nowMs += 10
  const pause = slices.pause()
  assert.notEqual(pause, undefined)
  await pause
  assert.equal(state.turns, 1)
  assert.equal(slices.pause(), undefined)
})

test('each turn of the event loop has one slice of all long work', async () => {
  const { state, clock } = countingClock()
  const order: string[] = []
  const work = async (name: string): Promise<void> => {
    const slices = new TimeSlices(clock)
    for (let step = 0; step < 3; step++) {
      state.nowMs += 10
      await slices.pause()
      order.push(`${state.turns} ${name}`)
    }
  }
  await Promise.all(['a', 'b', 'c'].map(work))
  const turns = order.map(entry => entry.split(' ')[0])
  assert.equal(new Set(turns).size, 9, order.join(', '))
  assert.deepEqual(
    order.slice(0, 3).map(entry => entry.slice(-1)),
    ['a', 'b', 'c'],
  )
})
