import assert from 'node:assert/strict'
import test from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { parseNameServers, UpstreamServers } from './upstream-servers.ts'

test('resolv.conf is parsed as by resolvers', () => {
  const cases: readonly (readonly [text: string, hosts: readonly string[]])[] = [
    ['', []],
    ['search example.com\noptions ndots:5\n', []],
    ['nameserver 192.0.2.1\nnameserver 192.0.2.2', ['192.0.2.1', '192.0.2.2']],
    ['# nameserver 192.0.2.1\n; nameserver 192.0.2.2\n\tnameserver  2001:db8::1 # ours\n', ['2001:db8::1']],
    ['nameserver fe80::1%eth0\nnameserver 127.0.0.53 ', ['fe80::1%eth0', '127.0.0.53']],
    ['nameserver one.example.com\nnameserver\nnameservers 192.0.2.1', []],
    ['nameserver 192.0.2.1\nnameserver 192.0.2.1', ['192.0.2.1']],
    [
      Array.from({ length: 9 }, (_, index) => `nameserver 192.0.2.${index}`).join('\n'),
      [0, 1, 2, 3, 4].map(each => `192.0.2.${each}`),
    ],
  ]
  for (const [text, hosts] of cases)
    assert.deepEqual(
      parseNameServers(text).map(({ host }) => host),
      hosts,
      text,
    )
})

test('resolv.conf is reread on change, kept when it disappears, and never contains this server', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('node')
  const servers = new UpstreamServers(host, { resolvConf: '/resolv.conf' }, [
    { host: '10.214.0.1', port: 53 },
  ])
  const list = async (): Promise<readonly string[]> => {
    return (await simulation.run(servers.list())).map(({ host: at, port }) => `${at}:${port}`)
  }
  const write = (text: string): Promise<void> => simulation.run(host.files.write('/resolv.conf', text))
  assert.deepEqual(await list(), [])
  await write('nameserver 10.214.0.1\nnameserver 192.0.2.1\n')
  assert.deepEqual(await list(), [], 'it looks again only after a while')
  await simulation.advance(5_000)
  assert.deepEqual(await list(), ['192.0.2.1:53'])
  await simulation.advance(5_000)
  await write('nameserver 192.0.2.2\n')
  assert.deepEqual(await list(), ['192.0.2.2:53'])
  await simulation.run(host.files.remove('/resolv.conf'))
  await simulation.advance(5_000)
  assert.deepEqual(await list(), ['192.0.2.2:53'])
})

test('loopback addresses of resolv.conf are replaced in another network namespace', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('node')
  const lines = ['127.0.0.53', '::1', '192.0.2.1'].map(each => `nameserver ${each}\n`)
  await simulation.run(host.files.write('/resolv.conf', lines.join('')))
  const servers = new UpstreamServers(
    host,
    { resolvConf: '/resolv.conf', loopbackUpstream: '10.214.0.1' },
    [],
  )
  assert.deepEqual(await simulation.run(servers.list()), [
    { host: '10.214.0.1', port: 53 },
    { host: '192.0.2.1', port: 53 },
  ])
})
