import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HttpExchange } from '#/platform/http.ts'
import { Simulation } from '#/platform/simulated.ts'
import { ResponseMemoryBudget } from './response-memory-budget.ts'

const simulation = new Simulation({ seed: 1 })
const { clock } = simulation

/** The parts of an HttpExchange that the budget uses. */
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

test('responses within the budget are sent at once, others in order', async () => {
  const budget = new ResponseMemoryBudget({ clock, bytesMax: 100 })
  const [a, b, c, d] = [answer(), answer(), answer(), answer()]
  assert.equal(budget.tryEnter(a, 60), true)
  assert.equal(budget.tryEnter(b, 60), false)
  const order: string[] = []
  const waiting = [
    budget.enter(b, 60).then(() => order.push('b')),
    budget.enter(c, 60).then(() => order.push('c')),
  ]
  assert.equal(budget.tryEnter(d, 10), false, 'who comes later does not overtake')
  budget.leave(a)
  await waiting[0]
  assert.deepEqual(order, ['b'])
  budget.leave(b)
  await waiting[1]
  budget.leave(c)
  assert.equal(budget.tryEnter(d, 500), true, 'alone, any size is fine')
})

test('canceled waiters are skipped, and excess responses are rejected', async () => {
  const budget = new ResponseMemoryBudget({ clock, bytesMax: 100, waitingMax: 1 })
  const [a, b, c] = [answer(), answer(), answer()]
  budget.tryEnter(a, 100)
  const waiting = budget.enter(b, 100)
  assert.equal(await budget.enter(c, 100), 'full')
  b.abort()
  assert.equal(await waiting, 'closed')
  const again = budget.enter(c, 100)
  budget.leave(a)
  assert.equal(await again, 'entered')
})

test('a stalled response is aborted while others wait, a progressing one is not', async () => {
  const budget = new ResponseMemoryBudget({ clock, bytesMax: 100, stallTimeoutMs: 40 })
  const [stuck, moving, next] = [answer(), answer(), answer()]
  budget.tryEnter(stuck, 50)
  budget.tryEnter(moving, 50)
  const progress = async (): Promise<void> => {
    while (!stuck.closed) {
      await clock.sleep(5)
      budget.progressed(moving)
    }
  }
  const progressing = progress()
  assert.equal(await simulation.run(budget.enter(next, 50)), 'entered')
  await simulation.run(progressing)
  assert.deepEqual([stuck.closed, moving.closed], [true, false])
})
