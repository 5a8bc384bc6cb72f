import assert from 'node:assert/strict'
import { test } from 'node:test'
import { events, nodes } from '#/api/generated/core/v1-resources.ts'
import { formatCidr, parseCidr } from '#/api/net/cidr.ts'
import { nodeIpamController } from './node-ipam.ts'
import { CidrSet } from './node-ipam/cidr-set.ts'
import { nodeTtlController, planTtlStep } from './node-ttl.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { crashingController } from './test-crashes.ts'

async function rangesOf(plane: TestControlPlane): Promise<readonly string[]> {
  return (await plane.list(nodes)).map(
    ({ metadata, spec }) => `${metadata.name} ${spec?.podCIDRs?.join() ?? ''}`,
  )
}

test('each node gets a pod CIDR per IP family, and existing ones are kept', async t => {
  const controller = nodeIpamController({
    clusterCidrs: ['10.244.0.0/16', 'fd00::/48'],
    serviceCidrs: ['10.244.1.0/24'],
  })
  const plane = await startTestControlPlane(t, [controller])
  const given = { podCIDR: '10.244.0.0/24', podCIDRs: ['10.244.0.0/24', 'fd00::/64'] }
  await plane.create(nodes, { metadata: { name: 'a' }, spec: given })
  await plane.create(nodes, { metadata: { name: 'b' } })
  await plane.create(nodes, { metadata: { name: 'c' } })
  assert.deepEqual(await rangesOf(plane), [
    'a 10.244.0.0/24,fd00::/64',
    'b 10.244.2.0/24,fd00:0:0:1::/64',
    'c 10.244.3.0/24,fd00:0:0:2::/64',
  ])
  assert.equal((await plane.list(nodes))[1]?.spec?.podCIDR, '10.244.2.0/24')
})

test('a node without a free CIDR records an event and gets the next free one', async t => {
  const plane = await startTestControlPlane(t, [nodeIpamController({ clusterCidrs: ['10.244.0.0/23'] })])
  for (const name of ['a', 'b', 'c']) await plane.create(nodes, { metadata: { name } })
  assert.deepEqual(await rangesOf(plane), ['a 10.244.0.0/24', 'b 10.244.1.0/24', 'c '])
  const told = (await plane.list(events)).find(({ reason }) => reason === 'CIDRNotAvailable')
  assert.equal(told?.message, 'Node c status is now: CIDRNotAvailable')
  await plane.run(plane.client.delete(nodes, { name: 'a' }))
  await plane.settle()
  assert.deepEqual(await rangesOf(plane), ['b 10.244.1.0/24', 'c 10.244.0.0/24'])
})

test('many concurrent nodes get distinct pod CIDRs', async t => {
  const plane = await startTestControlPlane(t, [nodeIpamController({ clusterCidrs: ['10.0.0.0/16'] })])
  const names = Array.from({ length: 100 }, (_, index) => `n${index}`)
  await plane.run(Promise.all(names.map(name => plane.client.create(nodes, { metadata: { name } }))))
  await plane.settle()
  assert.equal(new Set((await plane.list(nodes)).flatMap(({ spec }) => spec?.podCIDRs ?? [])).size, 100)
})

test('after a crash at any write, no pod CIDR is allocated twice', async t => {
  for (let writes = 1; ; writes++) {
    // One worker, so that the order of writes is deterministic.
    const ipam = { ...nodeIpamController({ clusterCidrs: ['10.0.0.0/16'] }), workers: 1 }
    const { controller, hasCrashed } = crashingController(ipam, writes)
    const plane = await startTestControlPlane(t, [controller])
    const names = Array.from({ length: 6 }, (_, index) => `n${index}`)
    await plane.run(Promise.all(names.map(name => plane.client.create(nodes, { metadata: { name } }))))
    await plane.settle()
    const ranges = (await plane.list(nodes)).flatMap(({ spec }) => spec?.podCIDRs ?? [])
    assert.equal(new Set(ranges).size, 6, `after ${writes} writes`)
    if (!hasCrashed()) return
  }
})

test('invalid cluster CIDRs and mask sizes are rejected at startup', () => {
  const check = (clusterCidr: string, ipv4: number, expected: RegExp): void => {
    assert.throws(
      () => nodeIpamController({ clusterCidrs: [clusterCidr], prefixLengths: { ipv4 } }),
      expected,
    )
  }
  check('10.0.0.0/24', 16, /node mask size \/16 does not fit in cluster CIDR 10\.0\.0\.0\/24/)
  check('10.0.0.0', 24, /invalid cluster CIDR/)
  assert.throws(() => nodeIpamController({ clusterCidrs: ['fd00::/16'] }), /too many/)
})

test('CidrSet allocates round-robin and frees a CIDR after its last release', () => {
  const subnets = new CidrSet('10.0.0.0/22', 24)
  const allocateNext = (): string | undefined => {
    const cidr = subnets.allocateNext()
    return cidr && formatCidr(cidr)
  }
  const first = parseCidr('10.0.0.0/24')!
  assert.deepEqual([allocateNext(), allocateNext()], ['10.0.0.0/24', '10.0.1.0/24'])
  subnets.occupy(first)
  subnets.release(first)
  subnets.occupy(parseCidr('10.0.2.128/25')!)
  assert.deepEqual([allocateNext(), allocateNext()], ['10.0.3.0/24', undefined])
  subnets.release(first)
  subnets.occupy(parseCidr('192.168.0.0/16')!)
  assert.deepEqual([allocateNext(), allocateNext()], ['10.0.0.0/24', undefined])
  subnets.release(parseCidr('10.0.0.0/8')!)
  assert.equal(allocateNext(), '10.0.1.0/24')
})

test('the node TTL annotation depends on the number of nodes', async t => {
  const plane = await startTestControlPlane(t, [nodeTtlController])
  const make = (name: string) => plane.client.create(nodes, { metadata: { name } })
  await plane.run(Promise.all(Array.from({ length: 100 }, (_, index) => make(`n${index}`))))
  await plane.settle()
  const texts = async (): Promise<unknown> => {
    const all = (await plane.list(nodes)).map(
      ({ metadata }) => metadata.annotations?.['node.alpha.kubernetes.io/ttl'],
    )
    return [...new Set(all)]
  }
  assert.deepEqual(await texts(), ['0'])
  await plane.run(make('one-more'))
  await plane.settle()
  assert.deepEqual(await texts(), ['15'])
})

test('the node TTL has hysteresis', () => {
  const check = (counts: readonly number[], expected: readonly number[]): void => {
    let step = 0
    assert.deepEqual(
      counts.map(count => (step = planTtlStep(step, count))),
      expected,
    )
  }
  check([1, 100, 101, 95, 90, 89], [0, 0, 1, 1, 1, 0])
  check([5_000, 1_900, 1_799, 0], [4, 4, 3, 0])
})
