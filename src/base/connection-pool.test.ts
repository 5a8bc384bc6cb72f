import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConnectionPool } from './connection-pool.ts'

/** `connect` returns what is closed, by name. */
function poolOf(max: number) {
  const pool = new ConnectionPool<{ readonly name: string }>(max)
  const connections = new Map<string, { readonly name: string }>()
  return {
    connect: (name: string, address: string, nowMs = 0): string | undefined => {
      const connection = { name }
      connections.set(name, connection)
      return pool.add(connection, { address, nowMs })?.name
    },
    close: (name: string) => pool.delete(connections.get(name)!),
  }
}

test('at the bound an address with fewer connections displaces the oldest of the address with the most', () => {
  const { connect } = poolOf(3)
  for (const name of ['a1', 'a2', 'a3']) assert.equal(connect(name, '10.0.0.1'), undefined)
  assert.equal(connect('b1', '10.0.0.2'), 'a1')
  assert.equal(connect('b2', '10.0.0.2'), 'b2')
  assert.equal(connect('c1', '10.0.0.3'), 'a2')
  assert.equal(connect('d1', '10.0.0.4'), 'd1')
})

test('at the bound an address displaces its own oldest connection only after a second', () => {
  const { connect } = poolOf(2)
  connect('a1', '10.0.0.1', 0)
  connect('a2', '10.0.0.1', 500)
  assert.equal(connect('a3', '10.0.0.1', 999), 'a3')
  assert.equal(connect('a4', '10.0.0.1', 1_000), 'a1')
  assert.equal(connect('a5', '10.0.0.1', 1_001), 'a5')
})

test('closed connections make room', () => {
  const { connect, close } = poolOf(1)
  connect('a1', '10.0.0.1')
  close('a1')
  assert.equal(connect('a2', '10.0.0.1'), undefined)
  close('a1')
  assert.equal(connect('a3', '10.0.0.1'), 'a3')
})

test('IPv6 addresses of one /64 network and IPv4 addresses in IPv6 form count as one', () => {
  const { connect } = poolOf(3)
  connect('a1', 'fd00:1:2:3::1')
  connect('a2', 'fd00:1:2:3:4:5:6:7')
  connect('b1', '::ffff:10.0.0.1')
  assert.equal(connect('b2', '10.0.0.1'), 'b2')
  assert.equal(connect('c1', 'fd00:1::1'), 'a1')
})
