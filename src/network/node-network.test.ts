import assert from 'node:assert/strict'
import test from 'node:test'
import { planClusterNetwork } from './cluster-network.ts'
import { cniConfiguration } from './node-network/cni.ts'
import {
  masqueradeTable,
  planForwarding,
  planForwardingRemoval,
  planIptablesMasquerade,
  planIptablesMasqueradeRemoval,
} from './node-network/packet-filter.ts'

const network = planClusterNetwork(2)

function words(commands: readonly (readonly string[])[]): readonly string[] {
  return commands.map(command => command.join(' '))
}

test('forwarding rules accept pod traffic before chains that drop it', () => {
  const open = ['-P INPUT ACCEPT', '-P FORWARD ACCEPT']
  const closed = ['-P INPUT ACCEPT', '-P FORWARD DROP']
  const docker = [...closed, '-N DOCKER-USER', '-A FORWARD -j DOCKER-USER', '-A DOCKER-USER -j RETURN']
  const rulesOf = (chain: string): readonly string[] => [
    `-I ${chain} 1 -s 10.214.2.0/24 -m comment --comment k8ts2 -j ACCEPT`,
    `-I ${chain} 1 -d 10.214.2.0/24 -m comment --comment k8ts2 -j ACCEPT`,
    `-I ${chain} 1 -s 10.242.0.0/16 -m comment --comment k8ts2 -j ACCEPT`,
    `-I ${chain} 1 -d 10.242.0.0/16 -m comment --comment k8ts2 -j ACCEPT`,
  ]
  assert.deepEqual(planForwarding(open, network), [])
  assert.deepEqual(words(planForwarding(closed, network)), rulesOf('FORWARD'))
  assert.deepEqual(words(planForwarding(docker, network)), rulesOf('DOCKER-USER'))
})

test('iptables rules are added once and removed without changing other rules', () => {
  const others = [
    '-N DOCKER-USER',
    '-A DOCKER-USER -s 10.242.0.0/16 -m comment --comment k8ts21 -j ACCEPT',
    '-A FORWARD -s 10.242.0.0/16 -j ACCEPT',
  ]
  const added = planForwarding(others, network).map(([, chain, , ...rule]) =>
    ['-A', chain, ...rule].join(' '),
  )
  for (const rules of [added, added.map(rule => rule.replace('k8ts2', '"k8ts2"'))]) {
    assert.deepEqual(planForwarding([...others, ...rules], network), [])
    assert.deepEqual(
      words(planForwardingRemoval([...others, ...rules], network)),
      added.map(rule => rule.replace('-A', '-D')),
    )
  }
  assert.deepEqual(planForwardingRemoval(others, network), [])
})

test('egress is masqueraded in each family of the cluster', () => {
  const clear = ['ip', 'ip6'].flatMap(family => [
    `add table ${family} k8ts2-network`,
    `delete table ${family} k8ts2-network`,
  ])
  const comment = '{ comment "k8ts: masquerade egress of k8ts2" ; }'
  const hook = '{ type nat hook postrouting priority srcnat ; }'
  const ranges = '{ 10.214.2.0/24, 10.242.0.0/16 }'
  const leaves = `ip saddr ${ranges} ip daddr != ${ranges} oifname != "k8ts2"`
  const ipv4 = [
    `add table ip k8ts2-network ${comment}`,
    `add chain ip k8ts2-network postrouting ${hook}`,
    `add rule ip k8ts2-network postrouting ${leaves} masquerade fully-random`,
  ]
  assert.deepEqual(masqueradeTable(network).split('\n'), [...clear, ...ipv4, ''])
  const both = masqueradeTable({ ...network, podCidrs: [...network.podCidrs, 'fd00::/48'] })
  assert.match(both, /add rule ip6 k8ts2-network postrouting ip6 saddr { fd00::\/48 } ip6 daddr != /)
})

test('frames between other ports of the bridge are not tracked', () => {
  const rule = 'add rule ip k8ts2-network prerouting iifname "k8ts2" ether daddr != 02:6b:00:00:00:01 notrack'
  assert.ok(masqueradeTable(network, '02:6b:00:00:00:01').split('\n').includes(rule))
})

test('the CNI configuration for the container runtime', () => {
  const text = cniConfiguration({
    name: 'k8ts0',
    podCidrs: ['10.244.0.0/24', 'fd00::/64'],
    addressFolder: '/data/addresses',
  })
  assert.deepEqual(JSON.parse(text), {
    cniVersion: '1.0.0',
    name: 'k8ts0',
    plugins: [
      {
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          dataDir: '/data/addresses',
          ranges: [[{ subnet: '10.244.0.0/24' }], [{ subnet: 'fd00::/64' }]],
          routes: [{ dst: '0.0.0.0/0' }, { dst: '::/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  })
  const withMtu = cniConfiguration({
    name: 'k8ts0',
    podCidrs: ['10.244.0.0/24'],
    addressFolder: '/data/addresses',
    mtu: 1450,
  })
  const { plugins } = JSON.parse(withMtu) as { readonly plugins: readonly { readonly mtu?: number }[] }
  assert.deepEqual(
    plugins.map(({ mtu }) => mtu),
    [1450, undefined],
  )
})

test('egress is masqueraded with iptables where nft cannot work, once, and the rules are removed', () => {
  const chain = 'K8TS2-MASQUERADE'
  const rules = [
    `:${chain} - [0:0]`,
    `-A ${chain} -o k8ts2 -j RETURN`,
    `-A ${chain} -d 10.214.2.0/24 -j RETURN`,
    `-A ${chain} -d 10.242.0.0/16 -j RETURN`,
    `-A ${chain} -s 10.214.2.0/24 -j MASQUERADE --random-fully`,
    `-A ${chain} -s 10.242.0.0/16 -j MASQUERADE --random-fully`,
  ]
  const jump = `-A POSTROUTING -j ${chain}`
  assert.deepEqual(planIptablesMasquerade([], network, 4), [...rules, jump])
  assert.deepEqual(planIptablesMasquerade([jump], network, 4), rules)
  assert.deepEqual(planIptablesMasquerade([], network, 6), [])
  assert.deepEqual(planIptablesMasqueradeRemoval(['-N OTHER'], network), [])
  assert.deepEqual(planIptablesMasqueradeRemoval([`-N ${chain}`, jump], network), [
    `-D POSTROUTING -j ${chain}`,
    `-F ${chain}`,
    `-X ${chain}`,
  ])
})
