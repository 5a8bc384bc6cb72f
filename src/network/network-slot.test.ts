import assert from 'node:assert/strict'
import test from 'node:test'
import { chooseSlot } from './network-slot.ts'

const ours = '02:6b:00:00:00:01'

/** `k8ts0=MAC` is an interface, everything else is a route. */
function choose(machine: string): number | string {
  const words = machine.split(' ').filter(word => word !== '')
  const links = words.filter(word => word.includes('=')).map(word => word.split('='))
  const routes = words.filter(word => !word.includes('=')).map(dst => ({ dst }))
  try {
    return chooseSlot(
      { links: links.map(([ifname = '', address = '']) => ({ ifname, address })), routes },
      { bridgeAddress: ours },
    )
  } catch (error) {
    return (error as Error).message
  }
}

test('a free network slot overlaps no bridge and no route of the machine', () => {
  const theirs = '02:6b:00:00:00:02'
  const everyBridge = Array.from({ length: 16 }, (_, slot) => `k8ts${slot}=${theirs}`).join(' ')
  const cases: readonly (readonly [machine: string, slot: number])[] = [
    ['', 0],
    ['default 192.0.2.0/24 eth0=52:54:00:00:00:01', 0],
    [`k8ts0=${theirs}`, 1],
    [`k8ts0=${theirs} k8ts1=${theirs} k8ts5=${ours}`, 5],
    // Networks outside of k8ts, a pod of another cluster, services of another cluster.
    ['10.214.0.0/16', 0],
    ['10.214.0.0/24', 1],
    ['10.244.3.7', 1],
    ['10.96.0.0/12', 0],
    ['10.96.0.0/16 10.243.0.0/24 10.214.2.0/24', 3],
    // A broader route does not conflict with more specific ones.
    ['10.0.0.0/8', 0],
    ['10.0.0.0/8 10.244.0.0/16', 1],
    ['10.240.0.0/14', 0],
    ['10.244.0.0/14', 1],
    ['fd00::/8', 0],
  ]
  for (const [machine, slot] of cases) assert.equal(choose(machine), slot, machine)
  assert.match(String(choose(everyBridge)), /all network slots .* are in use/)
})
