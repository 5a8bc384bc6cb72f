import assert from 'node:assert/strict'
import { test } from 'node:test'
import { turn } from './node/turn.ts'
import type { Clock } from './platform.ts'
import { nextSlice, TimeSlices } from './time-slices.ts'

/** Each reading of the clock takes a millisecond; turns are counted. */
function countingClock() {
  const state = { nowMs: 0, turns: 0 }
  const clock = {
    monotonicMs: () => state.nowMs++,
    beginWork: () => undefined,
    turn: async () => {
      await turn()
      state.turns++
    },
  } as unknown as Clock
  return { state, clock }
}

test('work is paused when its slice is over, and goes on in another turn', async () => {
  const { state, clock } = countingClock()
  const slices = new TimeSlices(clock, 'work')
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
    const slices = new TimeSlices(clock, 'work')
    state.nowMs += 10
    for (let step = 0; step < 3; step++) {
      await slices.pause()
      order.push(`${state.turns} ${name}`)
      state.nowMs += 10
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

test('work that needs little of a slice shares it with others', async () => {
  const { state, clock } = countingClock()
  const order: string[] = []
  const run = async (name: string, ms: number): Promise<void> => {
    await nextSlice(clock, 'work')
    state.nowMs += ms
    order.push(`${name} in turn ${state.turns}`)
  }
  await Promise.all([run('short', 0), run('another', 0), run('long', 10), run('late', 0), run('last', 0)])
  assert.deepEqual(order, [
    'short in turn 1',
    'another in turn 1',
    'long in turn 1',
    'late in turn 2',
    'last in turn 2',
  ])
})
