import assert from 'node:assert/strict'
import test from 'node:test'
import { VirtualTime } from './virtual-time.ts'

test('virtual timers fire by time, equal ones in the order of setting', () => {
  const time = new VirtualTime()
  const fired: string[] = []
  for (const [name, delayMs] of [
    ['c', 5],
    ['a', 1],
    ['d', 5],
    ['b', 1.0005],
    ['e', 5],
  ] as const) {
    time.schedule(delayMs, () => void fired.push(`${name}@${time.nowMs}`))
  }
  while (time.nextMs !== undefined) time.fireNext()
  assert.deepEqual(fired, ['a@1', 'b@1.001', 'c@5', 'd@5', 'e@5'])
})

test('a virtual timer in the past fires now, after those already due', () => {
  const time = new VirtualTime()
  const fired: string[] = []
  time.schedule(0, () => {
    fired.push('first')
    time.schedule(-3, () => void fired.push('third'))
  })
  time.schedule(0, () => void fired.push('second'))
  while (time.nextMs !== undefined) time.fireNext()
  assert.deepEqual(fired, ['first', 'second', 'third'])
  assert.equal(time.nowMs, 0)
})

test('a cancelled timer does not fire, and cancelling twice is harmless', () => {
  const time = new VirtualTime()
  const timer = time.schedule(1, () => assert.fail('fired'))
  const other = time.schedule(2, () => {})
  timer.cancel()
  timer.cancel()
  assert.equal(time.nextMs, 2)
  time.fireNext()
  other.cancel()
  assert.equal(time.nextMs, undefined)
})

test('floating-point noise of delays is not rounded up', () => {
  const time = new VirtualTime()
  time.schedule(0.1 + 0.2, () => {})
  assert.equal(time.nextMs, 0.3)
})

test('virtual time can advance up to the next timer, and not back', () => {
  const time = new VirtualTime()
  time.advanceTo(10)
  time.advanceTo(5)
  assert.equal(time.nowMs, 10)
  time.schedule(5, () => {})
  assert.throws(() => time.advanceTo(16), /due before/)
  time.advanceTo(15)
  assert.equal(time.nowMs, 15)
})

test('a NaN delay is rejected and an infinite one is bounded', () => {
  const time = new VirtualTime()
  assert.throws(() => time.schedule(Number.NaN, () => {}), /number/)
  time.schedule(Infinity, () => {})
  time.fireNext()
  assert(time.nowMs > 3e12 && Number.isSafeInteger(time.nowMs * 1_000))
})

test('a virtual timer with the least delay takes time', () => {
  const time = new VirtualTime()
  time.schedule(1e-11, () => undefined)
  time.fireNext()
  assert.equal(time.nowMs, 0.001)
})
