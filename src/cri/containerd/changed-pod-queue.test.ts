import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangedPodQueue } from './changed-pod-queue.ts'

test('the changed-pod queue yields a pod once for several changes', async () => {
  const pending = new ChangedPodQueue()
  for (let count = 0; count < 1_000; count++) pending.add(`u${count % 3}`)
  const changes = pending.take(new AbortController().signal)
  const told = [await changes.next(), await changes.next(), await changes.next()].map(({ value }) => value)
  assert.deepEqual(told, ['u0', 'u1', 'u2'])
  const next = changes.next()
  pending.add('u1')
  assert.deepEqual(await next, { value: 'u1', done: false })
})

test('the changed-pod queue yields a full resync instead of single pods', async () => {
  const pending = new ChangedPodQueue()
  pending.add('u1')
  pending.add(undefined)
  pending.add('u2')
  const changes = pending.take(new AbortController().signal)
  assert.deepEqual(await changes.next(), { value: undefined, done: false })
  pending.add('u3')
  assert.deepEqual(await changes.next(), { value: 'u3', done: false })
})

test('the changed-pod queue ends when aborted, waiting or not', async () => {
  const pending = new ChangedPodQueue()
  const end = new AbortController()
  const changes = pending.take(end.signal)
  const waiting = changes.next()
  end.abort()
  assert.equal((await waiting).done, true)
  pending.add('u1')
  assert.equal((await pending.take(end.signal).next()).done, true)
})
