import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planCniResultCleanup, planHostPortCleanup, planHostPortRemoval } from './cni.ts'

test('cached CNI results are removed with their network only', () => {
  const names = [
    'k8ts1-aaa-eth0',
    'k8ts11-bbb-eth0',
    'cni-loopback-aaa-lo',
    'cni-loopback-bbb-lo',
    'k8ts1-ccc-eth0',
    'other-k8ts1-eth0',
    '',
  ]
  const own = ['k8ts1-aaa-eth0', 'cni-loopback-aaa-lo', 'k8ts1-ccc-eth0']
  assert.deepEqual(planCniResultCleanup(names, 'k8ts1'), own)
  assert.deepEqual(planCniResultCleanup(names, 'k8ts2'), [])
})

const shared = [
  '-P PREROUTING ACCEPT',
  '-N CNI-HOSTPORT-DNAT',
  '-N CNI-HOSTPORT-MASQ',
  '-N CNI-HOSTPORT-SETMARK',
  '-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
  '-A OUTPUT -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
  '-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ',
  '-A POSTROUTING -j OTHERS',
  '-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE',
  '-A CNI-HOSTPORT-SETMARK -m comment --comment "CNI portfwd masquerade mark" -j MARK --set-xmark 0x2000/0x2000',
]

function portOf(network: string, chain: string): readonly string[] {
  const comment = String.raw`"dnat name: \"${network}\" id: \"abc\""`
  return [
    `-N ${chain}`,
    `-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment ${comment} -m multiport --dports 80 -j ${chain}`,
    `-A ${chain} -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.244.0.2:80`,
  ]
}

test('host ports are removed with their network', () => {
  const others = [...portOf('podman', 'CNI-DN-2'), ...portOf('k8ts11', 'CNI-DN-3')]
  assert.deepEqual(planHostPortRemoval([...shared, ...portOf('k8ts1', 'CNI-DN-1'), ...others], 'k8ts1'), [
    String.raw`-D CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"k8ts1\" id: \"abc\"" ` +
      '-m multiport --dports 80 -j CNI-DN-1',
    '-F CNI-DN-1',
    '-X CNI-DN-1',
  ])
  assert.deepEqual(planHostPortRemoval([...shared, ...others], 'k8ts1'), [])
})

test('host port chains are removed when no host port is left', () => {
  assert.deepEqual(planHostPortCleanup(shared), [
    '-D PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
    '-D OUTPUT -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT',
    '-D POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ',
    '-F CNI-HOSTPORT-MASQ',
    '-F CNI-HOSTPORT-SETMARK',
    '-X CNI-HOSTPORT-DNAT',
    '-X CNI-HOSTPORT-MASQ',
    '-X CNI-HOSTPORT-SETMARK',
  ])
  assert.deepEqual(planHostPortCleanup([...shared, ...portOf('podman', 'CNI-DN-1')]), [])
  assert.deepEqual(planHostPortCleanup(['-P PREROUTING ACCEPT']), [])
})
