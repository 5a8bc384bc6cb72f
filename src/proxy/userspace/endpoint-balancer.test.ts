import assert from 'node:assert/strict'
import test from 'node:test'
import type { ServiceEndpoint } from '../plan.ts'
import { EndpointBalancer } from './endpoint-balancer.ts'

function endpoints(names: string): readonly ServiceEndpoint[] {
  return names.split('').map(address => ({ address, port: 80, isLocal: true }))
}

function order(balancer: EndpointBalancer, client: string, nowMs = 0): string {
  return balancer
    .order(client, nowMs)
    .map(({ address }) => address)
    .join('')
}

test('endpoints are chosen in turn, and the others follow', () => {
  const balancer = new EndpointBalancer()
  assert.equal(order(balancer, 'x'), '')
  balancer.set(endpoints('abc'), undefined)
  assert.deepEqual(
    [1, 2, 3, 4].map(() => order(balancer, 'x')),
    ['abc', 'bca', 'cab', 'abc'],
  )
  balancer.set(endpoints('a'), undefined)
  assert.equal(order(balancer, 'x'), 'a')
})

test('a client keeps its endpoint until the timeout or the end of the endpoint', () => {
  const balancer = new EndpointBalancer()
  balancer.set(endpoints('abc'), 10)
  const use = (client: string, nowMs: number): string => {
    const [first] = balancer.order(client, nowMs)
    balancer.used(client, first!, nowMs)
    return first!.address
  }
  assert.deepEqual([use('x', 0), use('y', 0), use('x', 9_000), use('x', 18_000)], ['a', 'b', 'a', 'a'])
  assert.equal(use('x', 29_000), 'c')
  balancer.set(endpoints('ab'), 10)
  assert.equal(use('x', 29_001), 'a')
  assert.equal(use('y', 5_000), 'b')
})
