import assert from 'node:assert/strict'
import test from 'node:test'
import { isRelevantChange } from './state.ts'

const ofMachine = [
  '[LINK]2: eth0@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP',
  '[LINK]Deleted 3: vx0: <BROADCAST,MULTICAST> mtu 1450 qdisc noop state DOWN group default',
  '[ADDR]Deleted 3: vx0    inet 10.244.1.0/32 scope global vx0       valid_lft forever',
  '[ROUTE]Deleted 10.244.2.0/24 via 10.244.2.0 dev vx0 proto 107 src 10.244.1.0 onlink ',
  '[ROUTE]blackhole 10.244.2.0/24 ',
  '[ROUTE]fd00:244:2::/64 via fd00:214::3 dev eth1 metric 1024 pref medium',
  '[ROUTE]10.244.9.0/24 via 10.214.0.9 dev eth0 proto 107 src 10.214.0.2 ',
  '[NEIGH]Deleted 10.214.0.3 dev vx0 lladdr 06:6b:0a:d6:00:03 NOARP PERMANENT ',
]

const ofOthers = [
  '[LINK]12: veth1b2c@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UP',
  '[LINK]7: vx01: <BROADCAST,MULTICAST> mtu 1450 qdisc noop state DOWN group default',
  '[ADDR]12: veth1b2c    inet 10.244.1.1/32 scope global veth1b2c',
  '[ROUTE]10.244.1.7 dev veth1b2c scope host ',
  '[ROUTE]Deleted local 10.244.1.1 dev veth1b2c table local proto kernel scope host',
  '[NEIGH]10.214.0.3 dev eth0 lladdr 52:54:00:00:00:01 REACHABLE ',
  '',
]

test('only changes of the device, its link and the planned routes are relevant', () => {
  const destinations = new Set(['10.244.2.0/24', 'fd00:244:2::/64'])
  const watched = { device: 'vx0', link: 'eth0', destinations }
  for (const line of ofMachine) assert(isRelevantChange(line, watched), line)
  for (const line of ofOthers) assert(!isRelevantChange(line, watched), line)
})

test('before the link is known, changes of every link are relevant', () => {
  const unknown = { device: 'vx0', link: undefined, destinations: new Set<string>() }
  const isRelevant = [...ofMachine, ...ofOthers].filter(line => isRelevantChange(line, unknown))
  assert.deepEqual(
    isRelevant.filter(line => ofOthers.includes(line)),
    ofOthers.slice(0, 3),
  )
})
