import assert from 'node:assert/strict'
import { test } from 'node:test'
import { abortable, LinkedAbort, offAbort, onAbort, untilAborted } from './abort.ts'

test('callbacks are called once, in order, unless removed', () => {
  const controller = new AbortController()
  const called: string[] = []
  const removed = (): void => void called.push('removed')
  onAbort(controller.signal, () => called.push('first'))
  onAbort(controller.signal, removed)
  onAbort(controller.signal, () => {
    called.push('second')
    offAbort(controller.signal, last)
  })
  const last = (): void => void called.push('last')
  onAbort(controller.signal, last)
  offAbort(controller.signal, removed)
  controller.abort()
  controller.abort()
  assert.deepEqual(called, ['first', 'second'])
})

test('a linked signal follows its parent until disposed', () => {
  const parent = new AbortController()
  const linked = new LinkedAbort(parent.signal)
  const disposed = new LinkedAbort(parent.signal)
  disposed[Symbol.dispose]()
  parent.abort('over')
  assert.equal(linked.signal.reason, 'over')
  assert.equal(disposed.signal.aborted, false)
  assert.equal(new LinkedAbort(parent.signal).signal.reason, 'over')
})

test('an abortable promise rejects with the reason', async () => {
  const controller = new AbortController()
  const { promise, resolve } = Promise.withResolvers<string>()
  const result = abortable(promise, controller.signal)
  controller.abort(new Error('over'))
  resolve('late')
  await assert.rejects(result, /over/)
  assert.equal(await abortable(Promise.resolve('done'), new AbortController().signal), 'done')
})

test('untilAborted resolves when the signal is aborted, and at once if it is already', async () => {
  const controller = new AbortController()
  let isOver = false
  const over = untilAborted(controller.signal).then(() => (isOver = true))
  await Promise.resolve()
  assert.equal(isOver, false)
  controller.abort()
  await over
  await untilAborted(controller.signal)
})
