import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planPortMappingCleanup } from './port-mappings.ts'

const shared = [
  '-P PREROUTING ACCEPT',
  '-N CNI-HOSTPORT-DNAT',
  '-N CNI-HOSTPORT-MASQ',
  '-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
  '-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ',
  '-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE',
]

function portOf(network: string, chain: string): readonly string[] {
  const comment = String.raw`"dnat name: \"${network}\" id: \"abc\""`
  return [
    `-N ${chain}`,
    `-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment ${comment} -m multiport --dports 80 -j ${chain}`,
    `-A ${chain} -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.0.2:80`,
  ]
}

const sharedGone = [
  '-D PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
  '-D POSTROUTING -m comment --comment CNI portfwd requiring masquerade -j CNI-HOSTPORT-MASQ',
  '-F CNI-HOSTPORT-DNAT',
  '-F CNI-HOSTPORT-MASQ',
  '-X CNI-HOSTPORT-DNAT',
  '-X CNI-HOSTPORT-MASQ',
]

const ownGone = [
  '-D CNI-HOSTPORT-DNAT -p tcp -m comment --comment dnat name: "k8ts1" id: "abc" -m multiport --dports 80 -j CNI-DN-1',
  '-F CNI-DN-1',
  '-X CNI-DN-1',
]

const cases: readonly [name: string, rules: readonly string[], expected: readonly string[]][] = [
  ['there is nothing', [], []],
  ['nobody has a port', shared, sharedGone],
  ['others have one', [...shared, ...portOf('k8ts11', 'CNI-DN-1')], []],
  [
    'we have one, and so have others',
    [...shared, ...portOf('k8ts1', 'CNI-DN-1'), ...portOf('podman', 'CNI-DN-2')],
    ownGone,
  ],
  [
    'a pod of ours was killed',
    [...shared, ...portOf('k8ts1', 'CNI-DN-1')],
    [...ownGone, ...sharedGone],
  ],
]

test('ports of the machine go with the network they lead to, and what is shared with the last of them', () => {
  for (const [name, rules, expected] of cases) {
    const plan = planPortMappingCleanup(rules, { bridge: 'k8ts1' })
    assert.deepEqual(
      plan.map(words => words.join(' ')),
      expected,
      name,
    )
  }
})
