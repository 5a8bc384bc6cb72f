import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { HandshakeQueue } from './handshake-queue.ts'
import { turn } from '../turn.ts'

function socketOf(remoteAddress: string): Socket {
  return { remoteAddress, destroyed: false } as Socket
}

/** Longer than a slice. */
function work(): void {
  const endMs = performance.now() + 6
  while (performance.now() < endMs);
}

test('a handshake starts immediately, others at the same time in later turns of the event loop', async () => {
  let started = 0
  const queue = new HandshakeQueue(() => {
    started++
    work()
  })
  for (let count = 0; count < 3; count++) queue.add(socketOf('10.0.0.1'))
  assert.equal(started, 1)
  const seen = new Set<number>()
  while (started < 3) {
    await turn()
    seen.add(started)
  }
  assert.deepEqual([...seen].at(-1), 3)
  assert.ok(seen.has(2), 'both started in the same turn')
})

test('client addresses take turns', async () => {
  const order: string[] = []
  const queue = new HandshakeQueue(({ remoteAddress }) => void order.push(remoteAddress ?? ''))
  for (const address of ['a', 'a', 'a', 'a', 'b', 'c']) queue.add(socketOf(address))
  while (order.length < 6) await turn()
  assert.deepEqual(order, ['a', 'a', 'b', 'c', 'a', 'a'])
})

test('a connection that was closed meanwhile is not started', async () => {
  const order: string[] = []
  const queue = new HandshakeQueue(({ remoteAddress }) => void order.push(remoteAddress ?? ''))
  queue.add(socketOf('a'))
  queue.add({ remoteAddress: 'b', destroyed: true } as Socket)
  queue.add(socketOf('c'))
  while (order.length < 2) await turn()
  assert.deepEqual(order, ['a', 'c'])
})
