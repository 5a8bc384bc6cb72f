import assert from 'node:assert/strict'
import test from 'node:test'
import { isRelevantAddressChange, type AddressedLink } from './link-addresses.ts'
import { planAddressChanges } from './plan-address-changes.ts'

const metric = 1_234_567

/** `eth0 192.0.2.1/24 *192.0.2.9/32@30`: `*` marks announced addresses, `!` duplicates, `@` the seconds left. */
function linkOf(text: string): AddressedLink {
  const [name = '', ...rest] = text.split(' ')
  const addresses = rest.map(each => {
    const [, mark, address = '', length, seconds] = /^([*!]?)([^/]+)\/(\d+)(?:@(\d+))?$/.exec(each)!
    return {
      address,
      prefixLength: Number(length),
      metric: mark === '' ? undefined : metric,
      validSeconds: seconds === undefined ? undefined : Number(seconds),
      isDuplicate: mark === '!',
    }
  })
  return { name: name.replace('-', ''), mac: `mac-${name}`, isUp: !name.endsWith('-'), addresses }
}

/** `192.0.2.9@30 2001:db8::9` */
function plan(wanted: string, ...links: readonly string[]): ReturnType<typeof planAddressChanges> {
  return planAddressChanges({
    wanted: wanted
      .split(' ')
      .filter(Boolean)
      .map(each => {
        const [address = '', seconds] = each.split('@')
        return { address, validSeconds: seconds === undefined ? undefined : Number(seconds) }
      }),
    links: links.map(linkOf),
    nodeAddresses: ['192.0.2.1', '2001:db8::1'],
    metric,
  })
}

const add = (text: string, link: string, valid: string): string =>
  `address add ${text} dev ${link} metric ${metric} valid_lft ${valid} preferred_lft 0`

test('wanted addresses are added, extended, moved and removed with single commands', () => {
  const cases: readonly (readonly [wanted: string, links: readonly string[], commands: readonly string[]])[] =
    [
      ['192.0.2.9@30', ['eth0 192.0.2.1/24'], [add('192.0.2.9/32', 'eth0', '30')]],
      ['192.0.2.9', ['eth0 192.0.2.1/24'], [add('192.0.2.9/32', 'eth0', 'forever')]],
      ['192.0.2.9@30', ['eth0 192.0.2.1/24 *192.0.2.9/32@28'], []],
      [
        '192.0.2.9@30',
        ['eth0 192.0.2.1/24 *192.0.2.9/32@20'],
        [add('192.0.2.9/32', 'eth0', '30').replace('address add', 'address change')],
      ],
      [
        '192.0.2.9',
        ['eth0 192.0.2.1/24 *192.0.2.9/32@20'],
        [add('192.0.2.9/32', 'eth0', 'forever').replace('address add', 'address change')],
      ],
      ['', ['eth0 192.0.2.1/24 *192.0.2.9/32@20'], ['address delete 192.0.2.9/32 dev eth0']],
      // Addresses of others are left alone.
      ['', ['eth0 192.0.2.1/24 192.0.2.9/32'], []],
      // The link on whose subnet the address is.
      [
        '198.51.100.9@30',
        ['eth0 192.0.2.1/24 *198.51.100.9/32@30', 'eth1 198.51.100.1/24'],
        ['address delete 198.51.100.9/32 dev eth0', add('198.51.100.9/32', 'eth1', '30')],
      ],
      // Otherwise the link of the node, if possible of the family.
      [
        '203.0.113.9',
        ['eth1 198.51.100.1/24', 'eth0 192.0.2.1/24'],
        [add('203.0.113.9/32', 'eth0', 'forever')],
      ],
      [
        '2001:db8:9::9',
        ['eth0 192.0.2.1/24', 'eth1 2001:db8::1/64'],
        [add('2001:db8:9::9/128', 'eth1', 'forever')],
      ],
      ['2001:db8:9::9', ['eth0 192.0.2.1/24'], [add('2001:db8:9::9/128', 'eth0', 'forever')]],
      [
        '2001:db8::9',
        ['eth1 2001:db8::1/64 !2001:db8::9/128'],
        ['address delete 2001:db8::9/128 dev eth1', add('2001:db8::9/128', 'eth1', 'forever')],
      ],
      // Without a carrier nothing receives the announcement.
      ['192.0.2.9', ['eth0- 192.0.2.1/24'], []],
      ['192.0.2.9', ['eth0- 192.0.2.1/24 *192.0.2.9/32'], ['address delete 192.0.2.9/32 dev eth0']],
    ]
  for (const [wanted, links, commands] of cases)
    assert.deepEqual(plan(wanted, ...links).commands, commands, `${wanted}: ${links.join()}`)
})

test('the plan says where addresses are, which are new, and which have no link', () => {
  const { placed, added, withdrawn, unplaced, ipv6Links } = plan(
    '192.0.2.9 192.0.2.10 2001:db8::9 198.51.100.9',
    'eth0 192.0.2.1/24 *192.0.2.9/32 *192.0.2.8/32 2001:db8::1/64',
    'eth1- 198.51.100.1/24',
  )
  assert.deepEqual([...placed.keys()], ['192.0.2.9', '192.0.2.10', '2001:db8::9'])
  assert.deepEqual(placed.get('192.0.2.9'), { link: 'eth0', mac: 'mac-eth0' })
  assert.deepEqual(
    [added, withdrawn, unplaced, ipv6Links],
    [['192.0.2.10', '2001:db8::9'], ['192.0.2.8'], ['198.51.100.9'], ['eth0']],
  )
})

test('changes of announced addresses and of links other than those of pods are relevant', () => {
  const relevant = [
    `[ADDR]Deleted 2: eth0    inet 192.0.2.9/32 metric ${metric} scope global deprecated dynamic eth0`,
    '[LINK]2: eth0@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP',
  ]
  const others = [
    '[ADDR]2: eth0    inet 192.0.2.9/31 scope link noprefixroute eth0',
    '[LINK]12: veth1b2c@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UP',
    '',
  ]
  for (const line of relevant) assert.ok(isRelevantAddressChange(line, metric), line)
  for (const line of others) assert.ok(!isRelevantAddressChange(line, metric), line)
})
