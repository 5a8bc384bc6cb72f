import assert from 'node:assert/strict'
import test from 'node:test'
import { planPodNetwork, type PodNetworkNode, type PodNetworkPlan, type PodNetworkSettings } from './plan.ts'

const settings: PodNetworkSettings = {
  backend: 'vxlan',
  device: 'k8ts0-vxlan',
  vni: 4096,
  port: 4789,
  podCidrs: ['10.244.0.0/16', 'fd00:244::/48'],
}

interface Scene {
  readonly self?: string
  readonly peers: readonly string[]
  readonly backend?: 'vxlan' | 'host-gw'
  readonly link?: { readonly mtu?: number; readonly addresses?: readonly string[] }
}

/** A node is `name address,... podCidr,...`; `-` for none. */
function nodeOf(text: string): PodNetworkNode {
  const [name = '', ...lists] = text.split(' ')
  const [addresses = [], podCidrs = []] = lists.map(list => (list === '-' ? [] : list.split(',')))
  return { name, addresses, podCidrs }
}

const own = 'a 10.214.0.2,fd00:214::2 10.244.1.0/24,fd00:244:0:1::/64'
const b = 'b 10.214.0.3,fd00:214::3 10.244.2.0/24,fd00:244:0:2::/64'

function plan({ self = own, peers, backend = 'vxlan', link = {} }: Scene): PodNetworkPlan | undefined {
  const { mtu = 1500, addresses = ['10.214.0.2/24', 'fd00:214::2/64'] } = link
  return planPodNetwork({
    self: nodeOf(self),
    peers: peers.map(nodeOf),
    link: { name: 'eth0', mtu, addresses },
    settings: { ...settings, backend },
  })
}

/** `route`, `neighbour`, `fdb` and `refused` lines. */
function check(scene: Scene, expected: readonly string[]): void {
  const { routes = [], neighbours = [], fdb = [], refused = [] } = plan(scene) ?? {}
  const lines = [
    ...routes.map(({ destination, gateway, device, source, isOnlink }) => {
      return `route ${destination} via ${gateway} dev ${device} src ${source}${isOnlink ? ' onlink' : ''}`
    }),
    ...neighbours.map(({ address, mac }) => `neighbour ${address} ${mac}`),
    ...fdb.map(({ mac, destination }) => `fdb ${mac} ${destination}`),
    ...refused.map(({ node, podCidr, reason }) => `refused ${node} ${podCidr}: ${reason}`),
  ]
  assert.deepEqual(lines, expected)
}

test('VXLAN routes the pod CIDRs of each peer to its VTEP, in both families', () => {
  check({ peers: [own, b, 'c 10.214.0.4 10.244.3.0/24'] }, [
    'route 10.244.2.0/24 via 10.244.2.0 dev k8ts0-vxlan src 10.244.1.0 onlink',
    'route fd00:244:0:2::/64 via fe80::46b:aff:fed6:3 dev k8ts0-vxlan src fd00:244:0:1::',
    'route 10.244.3.0/24 via 10.244.3.0 dev k8ts0-vxlan src 10.244.1.0 onlink',
    'neighbour 10.244.2.0 06:6b:0a:d6:00:03',
    'neighbour fe80::46b:aff:fed6:3 06:6b:0a:d6:00:03',
    'neighbour 10.244.3.0 06:6b:0a:d6:00:04',
    'fdb 06:6b:0a:d6:00:03 10.214.0.3',
    'fdb 06:6b:0a:d6:00:04 10.214.0.4',
  ])
})

test('the VXLAN device has the network addresses of the node, and room for the outer headers', () => {
  const ofDevice = (scene: Omit<Scene, 'peers'>): unknown => {
    const { device, addresses, mtu } = plan({ ...scene, peers: [b] })!
    assert.equal(device?.mtu, mtu)
    return [device?.local, device?.mac, mtu, addresses]
  }
  const addresses = ['10.244.1.0/32', 'fd00:244:0:1::/128']
  const mac = '06:6b:0a:d6:00:02'
  assert.deepEqual(ofDevice({}), ['10.214.0.2', mac, 1450, addresses])
  assert.deepEqual(ofDevice({ link: { mtu: 9000 } }), ['10.214.0.2', mac, 8950, addresses])
  const ipv6First = 'a fd00:214::2,10.214.0.2 fd00:244:0:1::/64,10.244.1.0/24'
  assert.deepEqual(ofDevice({ self: ipv6First }), ['10.214.0.2', mac, 1450, addresses.toReversed()])
  const [local, ownMac, mtu] = ofDevice({ self: 'a fd00:214::2 fd00:244:0:1::/64' }) as readonly string[]
  assert.deepEqual([local, mtu], ['fd00:214::2', 1430])
  // The peers derive the same MAC address.
  const { fdb } = plan({
    self: 'x fd00:214::9 fd00:244:0:9::/64',
    peers: ['a fd00:214::2 fd00:244:0:1::/64'],
  })!
  assert.deepEqual(fdb, [{ mac: ownMac, destination: 'fd00:214::2' }])
})

test('nothing is planned before the node has an address and a pod CIDR', () => {
  for (const self of ['a 10.214.0.2 -', 'a - 10.244.1.0/24', 'a - -'])
    assert.equal(plan({ self, peers: [b] }), undefined, self)
})

test('peers that are not ready, that conflict or cannot be reached have no route', () => {
  const vxlan: readonly (readonly [peer: string, refused: readonly string[]])[] = [
    ['c 10.214.0.4 -', []],
    ['c - 10.244.3.0/24', []],
    [
      'c 10.214.0.4 10.244.1.128/25',
      ['10.244.1.128/25: it overlaps the pod CIDR 10.244.1.0/24 of this node'],
    ],
    ['c 10.214.0.4 10.244.0.0/20', ['10.244.0.0/20: it overlaps the pod CIDR 10.244.1.0/24 of this node']],
    [
      'c 10.214.0.4 0.0.0.0/0,10.9.0.0/24',
      [
        '0.0.0.0/0: it overlaps the pod CIDR 10.244.1.0/24 of this node',
        '10.9.0.0/24: it is not in the pod CIDRs of the cluster, 10.244.0.0/16,fd00:244::/48',
      ],
    ],
    ['c 10.214.0.2 10.244.3.0/24', ['10.244.3.0/24: the node has the address of this node, 10.214.0.2']],
    ['c fd00:214::4 10.244.3.0/24', ['10.244.3.0/24: the node has no IPv4 address']],
  ]
  for (const [peer, refused] of vxlan)
    check(
      { peers: [peer] },
      refused.map(text => `refused c ${text}`),
    )
  check({ self: 'a 10.214.0.2 10.244.1.0/24', peers: ['c 10.214.0.4 fd00:244:0:3::/64'] }, [])
  const { routes, refused } = plan({ peers: ['d 10.214.0.5 10.244.2.0/24', 'b 10.214.0.3 10.244.2.0/24'] })!
  assert.equal(routes.length, 1)
  assert.deepEqual(refused, [
    { node: 'd', podCidr: '10.244.2.0/24', reason: 'it is the pod CIDR of node b too' },
  ])
})

test('host-gw routes pod CIDRs to node addresses on the same subnet, and refuses others', () => {
  check({ backend: 'host-gw', peers: [b] }, [
    'route 10.244.2.0/24 via 10.214.0.3 dev eth0 src 10.214.0.2',
    'route fd00:244:0:2::/64 via fd00:214::3 dev eth0 src fd00:214::2',
  ])
  assert.deepEqual(
    [plan({ backend: 'host-gw', peers: [b] })?.device, plan({ backend: 'host-gw', peers: [b] })?.mtu],
    [undefined, 1500],
  )
  check({ backend: 'host-gw', peers: ['c 10.215.0.4 10.244.3.0/24,fd00:244:0:3::/64'] }, [
    'refused c 10.244.3.0/24: address 10.215.0.4 is not on the subnet of link eth0: use the backend vxlan',
    'refused c fd00:244:0:3::/64: the node has no IPv6 address',
  ])
  check({ backend: 'host-gw', self: 'a 10.214.0.2 10.244.1.0/24,fd00:244:0:1::/64', peers: [b] }, [
    'route 10.244.2.0/24 via 10.214.0.3 dev eth0 src 10.214.0.2',
    'refused b fd00:244:0:2::/64: this node has no IPv6 address',
  ])
})
