import assert from 'node:assert/strict'
import test from 'node:test'
import {
  allNodesCidr,
  planClusterNetwork,
  slotCount,
  type ClusterNetworkOverrides,
} from './cluster-network.ts'
import { cidrContainsCidr, cidrsOverlap, parseCidr, type Cidr } from '#/api/net/cidr.ts'

test('network plan of the first cluster of a machine', () => {
  assert.deepEqual(planClusterNetwork(0), {
    slot: 0,
    bridge: 'k8ts0',
    nodeCidr: '10.214.0.0/24',
    nodeAddress: '10.214.0.1',
    podCidrs: ['10.244.0.0/16'],
    serviceCidrs: ['10.96.0.0/16'],
    dnsAddress: '10.96.0.10',
    loadBalancerAddresses: '10.214.0.128-10.214.0.254',
    tables: { proxy: 'k8ts0-proxy', policy: 'k8ts0-policy', network: 'k8ts0-network' },
  })
})

test('clusters of one machine share no CIDR and no name', () => {
  const all = Array.from({ length: slotCount }, (_, slot) => planClusterNetwork(slot))
  const ranges = all.flatMap(({ nodeCidr, podCidrs, serviceCidrs }) => [
    nodeCidr,
    ...podCidrs,
    ...serviceCidrs,
  ])
  const cidrs = ranges.map(text => parseCidr(text) as Cidr)
  for (const [index, cidr] of cidrs.entries()) {
    assert(!cidrs.slice(index + 1).some(other => cidrsOverlap(cidr, other)), String(ranges[index]))
  }
  const names = all.flatMap(({ bridge, tables }): string[] => [bridge, ...Object.values(tables)])
  assert.equal(new Set(names).size, 64)
  for (const { nodeCidr } of all) assert(cidrContainsCidr(parseCidr(allNodesCidr)!, parseCidr(nodeCidr)!))
})

test('CIDRs can be overridden, in both families', () => {
  const { nodeAddress, podCidrs, dnsAddress, loadBalancerAddresses } = planClusterNetwork(3, {
    nodeCidr: '192.168.77.0/26',
    podCidrs: ['10.1.0.0/16', 'fd00:1::/48'],
    serviceCidrs: ['10.2.0.0/24'],
  })
  assert.deepEqual(
    [nodeAddress, podCidrs, dnsAddress, loadBalancerAddresses],
    ['192.168.77.1', ['10.1.0.0/16', 'fd00:1::/48'], '10.2.0.10', '192.168.77.32-192.168.77.62'],
  )
})

test('invalid CIDRs are rejected by name', () => {
  const cases: readonly (readonly [slot: number, choice: ClusterNetworkOverrides, error: RegExp])[] = [
    [16, {}, /invalid network slot 16/],
    [-1, {}, /invalid network slot -1/],
    [0.5, {}, /invalid network slot 0.5/],
    [0, { podCidrs: ['10.1.0.0'] }, /invalid CIDR 10.1.0.0 for pods/],
    [0, { serviceCidrs: ['10.244.7.0/24'] }, /pods 10.244.0.0\/16 overlaps CIDR of services 10.244.7.0\/24/],
    [0, { podCidrs: ['10.1.0.0/16', '10.1.2.0/24'] }, /pods 10.1.0.0\/16 overlaps CIDR of pods/],
    [0, { nodeCidr: '10.9.9.0/30' }, /node CIDR 10.9.9.0\/30 must be/],
    [0, { nodeCidr: 'fd00::/64' }, /node CIDR fd00::\/64 must be/],
    [0, { serviceCidrs: ['10.9.9.0/30'] }, /10.9.9.0\/30 has fewer than 10 addresses/],
    [0, { serviceCidrs: [] }, /has fewer than/],
  ]
  for (const [slot, choice, error] of cases) assert.throws(() => planClusterNetwork(slot, choice), error)
})
