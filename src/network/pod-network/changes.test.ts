import assert from 'node:assert/strict'
import test from 'node:test'
import { planPodNetworkChanges, type PodNetworkChanges } from './changes.ts'
import { planPodNetwork } from './plan.ts'
import type { HostLink, PodNetworkState } from './state.ts'

const settings = {
  backend: 'vxlan',
  device: 'vx0',
  vni: 4096,
  port: 4789,
  podCidrs: ['10.244.0.0/16'],
} as const
const link = { name: 'eth0', mtu: 1500, addresses: ['10.214.0.2/24'] }
const self = { name: 'a', addresses: ['10.214.0.2'], podCidrs: ['10.244.1.0/24'] }
const peer = { name: 'b', addresses: ['10.214.0.3'], podCidrs: ['10.244.2.0/24'] }
const plan = planPodNetwork({ self, peers: [peer], link, settings })!

const vxlan = { vni: 4096, port: 4789, local: '10.214.0.2', link: 'eth0', isLearning: false }
const device: HostLink = {
  name: 'vx0',
  mac: '06:6b:0a:d6:00:02',
  mtu: 1450,
  isUp: true,
  addresses: ['10.244.1.0/32'],
  vxlan,
}
const route = { destination: '10.244.2.0/24', gateway: '10.244.2.0', device: 'vx0', source: '10.244.1.0' }
const whole: PodNetworkState = {
  links: [device],
  routes: [route],
  neighbours: [{ address: '10.244.2.0', mac: '06:6b:0a:d6:00:03' }],
  fdb: [{ mac: '06:6b:0a:d6:00:03', destination: '10.214.0.3' }],
}

function changes(
  state: Partial<PodNetworkState>,
  planned: typeof plan | undefined = plan,
): PodNetworkChanges {
  return planPodNetworkChanges({ plan: planned, state: { ...whole, ...state }, settings })
}

const creation = [
  'link add name vx0 address 06:6b:0a:d6:00:02 mtu 1450 ' +
    'type vxlan id 4096 local 10.214.0.2 dev eth0 dstport 4789 nolearning',
  'link set dev vx0 up',
  'address replace 10.244.1.0/32 dev vx0',
  'neigh replace 10.244.2.0 lladdr 06:6b:0a:d6:00:03 dev vx0 nud permanent',
  'route replace 10.244.2.0/24 via 10.244.2.0 dev vx0 proto 107 src 10.244.1.0 onlink',
]
const fdbCreation = ['fdb replace 06:6b:0a:d6:00:03 dst 10.214.0.3 dev vx0 self permanent']

test('nothing is written when the network is as planned', () => {
  assert.deepEqual(changes({}), { ip: [], bridge: [] })
})

test('the device is created with everything on it, and created again when it cannot be changed', () => {
  const nothing = { routes: [], neighbours: [], fdb: [] }
  assert.deepEqual(changes({ ...nothing, links: [] }), { ip: creation, bridge: fdbCreation })
  const others = [{ vni: 1 }, { port: 8472 }, { local: '10.214.0.9' }, { link: 'eth1' }, { isLearning: true }]
  for (const other of others) {
    const links = [{ ...device, vxlan: { ...vxlan, ...other } }]
    assert.deepEqual(changes({ links }), { ip: ['link delete dev vx0', ...creation], bridge: fdbCreation })
  }
  assert.throws(() => changes({ links: [{ ...device, vxlan: undefined }] }), /a link of another kind/)
})

test('differences are corrected, and what belongs to other nodes is removed', () => {
  const links = [
    { ...device, mtu: 1400, mac: '02:00:00:00:00:01', isUp: false, addresses: ['10.244.9.0/32'] },
  ]
  assert.deepEqual(changes({ links }).ip, [
    'link set dev vx0 address 06:6b:0a:d6:00:02',
    'link set dev vx0 mtu 1450',
    'link set dev vx0 up',
    'address delete 10.244.9.0/32 dev vx0',
    'address replace 10.244.1.0/32 dev vx0',
  ])
  const stale = {
    routes: [route, { ...route, destination: '10.244.7.0/24', gateway: '10.244.7.0' }],
    neighbours: [...whole.neighbours, { address: '10.244.7.0', mac: '06:6b:0a:d6:00:07' }],
    fdb: [...whole.fdb, { mac: '06:6b:0a:d6:00:07', destination: '10.214.0.7' }],
  }
  assert.deepEqual(changes(stale), {
    ip: [
      'route delete 10.244.7.0/24 via 10.244.7.0 dev vx0 proto 107 src 10.244.1.0',
      'neigh delete 10.244.7.0 lladdr 06:6b:0a:d6:00:07 dev vx0',
    ],
    bridge: ['fdb delete 06:6b:0a:d6:00:07 dst 10.214.0.7 dev vx0'],
  })
})

test('routes of other clusters on other devices are left alone', () => {
  const other = { destination: '10.9.2.0/24', gateway: '10.214.1.3', device: 'eth0', source: '10.214.1.2' }
  assert.deepEqual(changes({ routes: [route, other] }), { ip: [], bridge: [] })
})

test('the backend host-gw removes the device and replaces its routes', () => {
  const hostGateway = planPodNetwork({
    self,
    peers: [peer],
    link,
    settings: { ...settings, backend: 'host-gw' },
  })!
  assert.deepEqual(changes({}, hostGateway), {
    ip: [
      'link delete dev vx0',
      'route replace 10.244.2.0/24 via 10.214.0.3 dev eth0 proto 107 src 10.214.0.2',
    ],
    bridge: [],
  })
  const removal = planPodNetworkChanges({ plan: undefined, state: whole, settings })
  assert.deepEqual(removal, { ip: ['link delete dev vx0'], bridge: [] })
})
