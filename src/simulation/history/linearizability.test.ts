import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '#/base/seeded-random.ts'
import { linearize, type Model, type TimedOperation } from './linearizability.ts'

/** A register: `w1` writes 1, `r1` reads 1. */
const register: Model<string, string> = {
  initial: '0',
  step: (state, operation) => {
    const value = operation.slice(1)
    if (operation.startsWith('w')) return value
    return state === value ? state : undefined
  },
  describe: state => state,
}

/** `w1 0-5, r1 2-3`; without an end, or with `?`, the outcome is unknown. */
function operationsOf(text: string): TimedOperation<string>[] {
  return text.split(', ').map(each => {
    const [, operation = '', call, end, unknown] = /^(\w+) (\d+)-(\d+)?(\?)?$/.exec(each) ?? []
    return {
      operation,
      callMs: Number(call),
      returnMs: end === undefined ? Infinity : Number(end),
      isOptional: end === undefined || unknown !== undefined,
    }
  })
}

test('histories of a register are linearizable or not', () => {
  const check = (text: string, expected: string): void => {
    assert.equal(linearize(register, operationsOf(text)).type, expected, text)
  }
  check('w1 0-1, r1 2-3', 'linearizable')
  check('w1 0-1, r0 2-3', 'violation')
  check('w1 0-9, r0 1-2, r1 3-4', 'linearizable')
  check('w1 0-9, r1 1-2, r0 3-4', 'violation')
  check('w1 0-9, w2 1-8, r1 2-3, r2 4-5', 'linearizable')
  check('w1 0-9, w2 1-8, r1 2-3, r2 4-5, r1 6-7', 'violation')
  // The end of one and the start of the other at the same time: concurrent.
  check('w1 0-5, r0 5-6', 'linearizable')
  // An unknown outcome: never, or at any later time.
  check('w1 0-, r0 2-3', 'linearizable')
  check('w1 0-, r0 2-3, r1 50-51', 'linearizable')
  check('w1 0-, r1 2-3, r0 4-5', 'violation')
  check('w1 5-, r1 2-3', 'violation')
  check('w1 0-, w2 1-2, r2 3-4, r1 5-6, r2 7-8', 'violation')
  // Never, or until a time.
  check('w1 0-4?, r0 2-3, r1 5-6', 'linearizable')
  check('w1 0-4?, r0 2-3, r0 5-6', 'linearizable')
  check('w1 0-4?, r0 5-6, r1 7-8', 'violation')
})

test('an order is given up as soon as a later operation is not possible any more', () => {
  // A register that only grows.
  const growing: Model<string, string> = {
    ...register,
    canFollow: (state, operation) => Number(operation.slice(1)) >= Number(state),
  }
  const unknown = Array.from({ length: 20 }, (_, index) => `w${100 + index} 0-`).join(', ')
  const bounds = { stepsMax: 1_000, visitedMax: 1_000 }
  const decide = (model: Model<string, string>): string =>
    linearize(model, operationsOf(`w1 0-9, r2 8-11, ${unknown}`), bounds).type
  assert.equal(decide(register), 'undecided')
  assert.equal(decide(growing), 'violation')
})

test('a linearization is an order that respects real time', () => {
  const result = linearize(register, operationsOf('w2 1-8, r2 4-5, w1 0-9, r1 2-3'))
  assert.deepEqual(result, { type: 'linearizable', order: ['w1', 'r1', 'w2', 'r2'] })
})

test('a violation shows the longest order and what does not follow', () => {
  const result = linearize(register, operationsOf('w1 0-1, r1 2-3, r0 4-5, w2 6-7'))
  assert.deepEqual(result, {
    type: 'violation',
    stuck: { length: 2, last: ['w1', 'r1'], state: '1', next: ['r0'] },
  })
})

test('a search that reaches a bound is undecided', () => {
  const text = Array.from({ length: 12 }, (_, index) => `w${index} 0-9`).join(', ')
  const operations = operationsOf(`${text}, r99 10-11`)
  assert.equal(linearize(register, operations).type, 'violation')
  const bounds = { stepsMax: 1_000, visitedMax: 1_000_000 }
  assert.deepEqual(linearize(register, operations, bounds), { type: 'undecided', steps: 1_000 })
  assert.equal(linearize(register, operations, { ...bounds, visitedMax: 10 }).type, 'undecided')
})

test('random histories of a real register are linearizable, and not after a read is changed', () => {
  for (let seed = 0; seed < 50; seed++) {
    const random = new SeededRandom(`register ${seed}`)
    const operations = randomHistory(random)
    assert.equal(linearize(register, operations).type, 'linearizable', `seed ${seed}`)
    const index = operations.findLastIndex(({ operation }) => operation.startsWith('r'))
    const wrong = operations.with(index, { ...operations[index]!, operation: 'r-1' })
    assert.equal(linearize(register, wrong).type, 'violation', `seed ${seed}`)
  }
})

/** Each operation takes effect at its own time, with the call before and the return after it. */
function randomHistory(random: SeededRandom): TimedOperation<string>[] {
  let value = '0'
  return Array.from({ length: 60 }, (_, index) => {
    const isWrite = random.integer(2) === 0
    if (isWrite) value = String(index)
    return {
      operation: `${isWrite ? 'w' : 'r'}${value}`,
      callMs: index * 10 - random.integer(40),
      returnMs: index * 10 + random.integer(40),
      isOptional: false,
    }
  })
}
