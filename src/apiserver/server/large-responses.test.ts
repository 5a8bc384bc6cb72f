import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HttpExchange } from '#/platform/http.ts'
import type { Timer } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { LargeResponses } from './large-responses.ts'

const simulation = new Simulation({ seed: 1 })
const { clock } = simulation

/** The parts of an HttpExchange that LargeResponses uses. */
class Answer {
  closed = false
  readonly #callbacks: (() => void)[] = []

  onClose(callback: () => void): void {
    this.#callbacks.push(callback)
  }

  abort(): void {
    this.closed = true
    for (const callback of this.#callbacks) callback()
  }
}

function answer(): HttpExchange & Answer {
  return new Answer() as unknown as HttpExchange & Answer
}

test('responses within the bound are sent at once, others in order', async () => {
  const large = new LargeResponses({ clock, sendingMax: 1 })
  const [a, b, c, d] = [answer(), answer(), answer(), answer()]
  assert.equal(large.tryEnter(a), true)
  assert.equal(large.tryEnter(b), false)
  const order: string[] = []
  const waiting = [large.enter(b).then(() => order.push('b')), large.enter(c).then(() => order.push('c'))]
  assert.equal(large.tryEnter(d), false)
  large.leave(a)
  await waiting[0]
  assert.deepEqual(order, ['b'])
  assert.equal(large.tryEnter(d), false)
  large.leave(b)
  await waiting[1]
  large.leave(c)
  assert.equal(large.tryEnter(d), true)
})

test('canceled waiters are skipped, and excess responses are rejected', async () => {
  const large = new LargeResponses({ clock, sendingMax: 1, waitingMax: 1 })
  const [a, b, c] = [answer(), answer(), answer()]
  large.tryEnter(a)
  const waiting = large.enter(b)
  assert.equal(await large.enter(c), 'full')
  b.abort()
  assert.equal(await waiting, 'closed')
  const again = large.enter(c)
  large.leave(a)
  assert.equal(await again, 'entered')
})

test('a stalled response is aborted while others wait, a progressing one is not', async () => {
  const large = new LargeResponses({ clock, sendingMax: 2, stallTimeoutMs: 40 })
  const [stuck, moving, next] = [answer(), answer(), answer()]
  large.tryEnter(stuck)
  large.tryEnter(moving)
  const progress = async (): Promise<void> => {
    while (!stuck.closed) {
      await clock.sleep(5)
      large.progressed(moving)
    }
  }
  const progressing = progress()
  assert.equal(await simulation.run(large.enter(next)), 'entered')
  await simulation.run(progressing)
  assert.deepEqual([stuck.closed, moving.closed], [true, false])
})

test('time in which the event loop was blocked does not count as a stall', async () => {
  let nowMs = 0
  let check = (): void => undefined
  const setTimer = (_delayMs: number, callback: () => void): Timer => {
    check = callback
    return { cancel: () => undefined }
  }
  const blocked = { ...simulation.clock, monotonicMs: () => nowMs, setTimer }
  const large = new LargeResponses({ clock: blocked, sendingMax: 1, stallTimeoutMs: 1_000 })
  const [sending, next] = [answer(), answer()]
  large.tryEnter(sending)
  const entering = large.enter(next)
  nowMs = 60_000
  check()
  assert.equal(sending.closed, false)
  for (let index = 0; index < 10; index++) {
    nowMs += 100
    check()
  }
  assert.equal(sending.closed, true)
  assert.equal(await entering, 'entered')
})
