import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import { nodeClock } from './clock.ts'

const clock = nodeClock()

test("now() is within the system's millisecond and has fractions", () => {
  const fractions = new Set<number>()
  for (let round = 0; round < 20_000; round += 1) {
    const before = Date.now()
    const now = clock.now()
    assert.ok(now >= before && now < Date.now() + 1, `${now} is not within ${before} and ${Date.now() + 1}`)
    fractions.add(now % 1)
  }
  assert.ok(fractions.size > 100)
})

test('now() follows a system clock that is set back or forward', t => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000_000 })
  assert.equal(Math.floor(clock.now()), 1_000_000)
  t.mock.timers.setTime(5_000_000)
  assert.equal(Math.floor(clock.now()), 5_000_000)
  t.mock.timers.reset()
  const before = Date.now()
  const now = clock.now()
  assert.ok(now >= before && now < Date.now() + 1)
})

test('monotonic time never goes back', () => {
  let last = clock.monotonicMs()
  for (let round = 0; round < 10_000; round += 1) {
    const next = clock.monotonicMs()
    assert.ok(next >= last)
    last = next
  }
})

test('a timer fires once and not before its delay', async () => {
  for (const delayMs of [0, 0.4, 1, 2.7, 5]) {
    const start = clock.monotonicMs()
    let fired = 0
    await new Promise<void>(resolve => {
      clock.setTimer(delayMs, () => {
        fired += 1
        resolve()
      })
    })
    assert.ok(clock.monotonicMs() - start >= delayMs)
    assert.equal(fired, 1)
  }
})

test('a cancelled timer does not fire, nor one whose delay is longer than Node can hold', async () => {
  const fired: string[] = []
  clock.setTimer(1, () => fired.push('cancelled')).cancel()
  const long = clock.setTimer(2 ** 31, () => fired.push('long'))
  const endless = clock.setTimer(Infinity, () => fired.push('endless'))
  await wait(10)
  long.cancel()
  endless.cancel()
  assert.deepEqual(fired, [])
})

test('sleep ends after the delay, or with the reason of the abort', async () => {
  const start = clock.monotonicMs()
  await clock.sleep(3)
  assert.ok(clock.monotonicMs() - start >= 3)

  const controller = new AbortController()
  const sleeping = clock.sleep(60_000, controller.signal)
  controller.abort(new Error('enough'))
  await assert.rejects(sleeping, /enough/)
  await assert.rejects(clock.sleep(1, controller.signal), /enough/)
})

test('turn() resolves after everything that was ready has run', async () => {
  const order: string[] = []
  void (async () => {
    for (let round = 0; round < 100; round += 1) await Promise.resolve()
    order.push('microtasks')
  })()
  process.nextTick(() => order.push('next tick'))
  await clock.turn()
  order.push('turn')
  assert.deepEqual(order.toSorted(), ['microtasks', 'next tick', 'turn'])
  assert.equal(order.at(-1), 'turn')
})
