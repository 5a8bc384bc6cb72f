import assert from 'node:assert/strict'
import test from 'node:test'
import { planService } from './plan.ts'
import { service, slice } from './test-services.ts'
import { affectsConntrack, parseConntrack, planConntrackCleanup } from './conntrack-entries.ts'

const udp = [{ name: 'http', port: 53, protocol: 'UDP', nodePort: 30053 }]

function portsOf(...endpoints: string[]): ReturnType<typeof planService>['ports'] {
  const slices = [slice(endpoints, { ports: [{ name: 'http', port: 8080, protocol: 'UDP' }] })]
  const of = service({ ports: udp, externalIPs: ['192.0.2.9'] })
  return planService({ service: of, slices, node: { name: 'a', zone: '' }, families: [4] }).ports
}

/** `10.96.0.5:53>10.244.0.1:8080`. */
function flowsOf(text: string): Parameters<typeof planConntrackCleanup>[0] {
  const socket = (at: string): { readonly address: string; readonly port: number } => {
    const [address = '', port] = at.split(':')
    return { address, port: Number(port) }
  }
  return text.split(' ').map(each => {
    const [to = '', by = ''] = each.split('>')
    return { origDst: socket(to), replySrc: socket(by) }
  })
}

test('conntrack entries are parsed from its listing', () => {
  const listed = [
    'udp 17 28 src=10.244.0.11 dst=10.96.0.5 sport=5353 dport=53 [UNREPLIED] ' +
      'src=10.244.0.1 dst=10.244.0.11 sport=8080 dport=5353 mark=0 use=1',
    'udp      17 119 src=198.51.100.2 dst=192.0.2.9 sport=1 dport=53 ' +
      'src=10.244.0.1 dst=169.254.1.1 sport=8080 dport=2 [ASSURED] mark=0 use=1',
    'conntrack v1.4.7 (conntrack-tools): 2 flow entries have been shown.',
    'udp      17 119 src=198.51.100.2',
    '',
  ]
  assert.deepEqual(
    parseConntrack(listed.join('\n')),
    flowsOf('10.96.0.5:53>10.244.0.1:8080 192.0.2.9:53>10.244.0.1:8080'),
  )
})

test('conntrack entries are stale when their endpoint no longer serves', () => {
  const cases: readonly (readonly [endpoints: readonly string[], flows: string, stale: string])[] = [
    [['10.244.0.1@a'], '10.96.0.5:53>10.244.0.1:8080', ''],
    [['10.244.0.1@a'], '10.96.0.5:53>10.244.0.2:8080', '10.96.0.5:53>10.244.0.2:8080'],
    [['10.244.0.1@a'], '10.96.0.5:53>10.244.0.1:9090', '10.96.0.5:53>10.244.0.1:9090'],
    [['10.244.0.2@a terminating'], '10.96.0.5:53>10.244.0.2:8080', ''],
    [['10.244.0.2@a ending'], '10.96.0.5:53>10.244.0.2:8080', '10.96.0.5:53>10.244.0.2:8080'],
    [[], '10.96.0.5:53>10.244.0.2:8080 10.96.0.5:53>10.244.0.2:8080', '10.96.0.5:53>10.244.0.2:8080'],
    [[], '10.96.0.5:54>10.244.0.2:8080 10.96.0.6:53>10.244.0.2:8080', ''],
    // A flow from before the address belonged to a service.
    [['10.244.0.1@a'], '192.0.2.9:53>192.0.2.9:53', '192.0.2.9:53>192.0.2.9:53'],
    [['10.244.0.1@a'], '198.51.100.1:30053>10.244.0.2:8080', '198.51.100.1:30053>10.244.0.2:8080'],
    // An unrelated flow to the same port number.
    [['10.244.0.1@a'], '203.0.113.1:30053>203.0.113.1:30053', ''],
  ]
  for (const [endpoints, flows, stale] of cases) {
    const expected = stale === '' ? [] : flowsOf(stale)
    assert.deepEqual(
      planConntrackCleanup(flowsOf(flows), portsOf(...endpoints)),
      expected,
      `${endpoints.join()} ${flows}`,
    )
  }
})

test('only changes of UDP endpoints affect conntrack', () => {
  const [one] = portsOf('10.244.0.1@a')
  const [same] = portsOf('10.244.0.1@a')
  const [two] = portsOf('10.244.0.1@a', '10.244.0.2@b')
  const tcp = planService({ service: service({}), slices: [], node: { name: 'a', zone: '' }, families: [4] })
    .ports[0]
  assert.deepEqual(
    [
      affectsConntrack(one, same),
      affectsConntrack(one, two),
      affectsConntrack(undefined, one),
      affectsConntrack(one, undefined),
      affectsConntrack(undefined, tcp),
    ],
    [false, true, true, true, false],
  )
})
