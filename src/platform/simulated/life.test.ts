import assert from 'node:assert/strict'
import test from 'node:test'
import { Life } from './life.ts'
import { VirtualTime } from './virtual-time.ts'

test('an ended life gets no callbacks and no timers', () => {
  const { time, life, heard } = start()
  life.later(1, () => void heard.push('timer'))
  life.end('exit')
  life.later(1, () => void heard.push('late timer'))
  life.enter(() => void heard.push('message'))
  assert.equal(time.nextMs, undefined)
  assert.deepEqual(heard, [])
})

test('ending a life runs its disposers in order, once, and aborts last', () => {
  const { life, heard } = start()
  life.signal.addEventListener('abort', () => heard.push('aborted'))
  life.onEnd(ending => void heard.push(`one ${ending}`))
  const forget = life.onEnd(() => void heard.push('forgotten'))
  life.onEnd(ending => void heard.push(`two ${ending}`))
  forget()
  life.end('crash')
  life.end('exit')
  assert.deepEqual(heard, ['one crash', 'two crash', 'aborted'])
})

test('a resumed life gets its pending callbacks in order, except cancelled ones', () => {
  const { time, life, heard } = start()
  life.stop()
  life.enter(() => void heard.push('message'))
  life.later(1, () => void heard.push('timer'))
  const cancelled = life.later(2, () => void heard.push('cancelled'))
  while (time.nextMs !== undefined) time.fireNext()
  assert.deepEqual([heard, life.heldCount], [[], 3])
  cancelled.cancel()
  life.goOn()
  while (time.nextMs !== undefined) time.fireNext()
  assert.deepEqual([heard, life.heldCount], [['message', 'timer'], 0])
})

test('an event that arrives while held ones are delivered comes after them', () => {
  const { time, life, heard } = start()
  life.stop()
  life.enter(() => void heard.push('held'))
  life.goOn()
  life.enter(() => void heard.push('new'))
  while (time.nextMs !== undefined) time.fireNext()
  life.enter(() => void heard.push('at once'))
  assert.deepEqual(heard, ['held', 'new', 'at once'])
})

test('a life stopped again while held events are delivered keeps the others', () => {
  const { time, life, heard } = start()
  life.stop()
  life.enter(() => {
    heard.push('first')
    life.stop()
  })
  life.enter(() => void heard.push('second'))
  life.goOn()
  while (time.nextMs !== undefined) time.fireNext()
  assert.deepEqual([heard, life.heldCount], [['first'], 1])
  life.goOn()
  while (time.nextMs !== undefined) time.fireNext()
  assert.deepEqual(heard, ['first', 'second'])
})

test('ending a stopped life drops its pending callbacks', () => {
  const { time, life, heard } = start()
  life.stop()
  life.enter(() => void heard.push('message'))
  life.end('exit')
  life.goOn()
  assert.equal(time.nextMs, undefined)
  assert.deepEqual(heard, [])
})

function start(): { time: VirtualTime; life: Life; heard: string[] } {
  const time = new VirtualTime()
  return { time, life: new Life('a', time), heard: [] }
}
