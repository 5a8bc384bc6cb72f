import assert from 'node:assert/strict'
import test from 'node:test'
import { configMaps, events, pods, services } from '#/api/generated/core/v1-resources.ts'
import type { ServiceSpec } from '#/api/generated/core/v1.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { parseDnsMessage, recordTypes, serializeDnsMessage, type DnsMessage } from './dns-message.ts'
import { dnsConfigMap } from './ensure-dns.ts'
import { addressRecord } from './records/make-records.ts'
import { addressAnswer, denial, startDnsWorld, type DnsWorld } from './test-dns-world.ts'

async function addService({ create }: DnsWorld, name: string, spec: ServiceSpec): Promise<void> {
  const ports = spec.type === 'ExternalName' ? {} : { ports: [{ port: 80 }] }
  await create(services, { metadata: { namespace: 'default', name }, spec: { ...ports, ...spec } })
}

const web = 'web.default.svc.cluster.local'

test('queries are counted under the names of CoreDNS', async t => {
  const world = await startDnsWorld(t)
  const { address, ask, get } = world
  await addService(world, 'web', {})
  assert.match(await ask(web), /^10\./)
  assert.match(await ask(web), /^10\./)
  assert.equal(await ask('none.default.svc.cluster.local', 'AAAA'), 'NXDOMAIN 5')
  assert.equal(await ask('example.com', 'TXT'), 'SERVFAIL', 'no upstream server answers')
  const metrics = await get('/metrics')
  const server = 'server="dns://control-plane:53"'
  const common = `${server},view="",zone="."`
  const asked = (type: string, count: number): string =>
    `coredns_dns_requests_total{family="1",proto="udp",${server},type="${type}",view="",zone="."} ${count}`
  const answered = (plugin: string, rcode: string, count: number): string =>
    `coredns_dns_responses_total{plugin="${plugin}",rcode="${rcode}",${common}} ${count}`
  for (const line of [
    asked('A', 2),
    asked('AAAA', 1),
    asked('TXT', 1),
    answered('kubernetes', 'NOERROR', 2),
    answered('kubernetes', 'NXDOMAIN', 1),
    answered('forward', 'SERVFAIL', 1),
    `coredns_dns_request_duration_seconds_count{${common}} 4`,
    `coredns_dns_request_size_bytes_count{proto="udp",${common}} 4`,
    `coredns_dns_response_size_bytes_count{proto="udp",${common}} 4`,
    `coredns_cache_misses_total{${server},view="",zones="."} 1`,
    `coredns_forward_requests_total{to="${address}:54"} 3`,
    `coredns_plugin_enabled{name="kubernetes",${common}} 1`,
    'coredns_build_info{goversion="",revision="",version="v1"} 1',
    'coredns_panics_total 0',
  ])
    assert.ok(metrics.split('\n').includes(line), `${line}\nis not in\n${metrics}`)
  assert.equal(await get('/ready'), 'OK')
  assert.equal(await get('/health'), 'OK')
})

test('a change that alters answers is recorded as a pass', async t => {
  const world = await startDnsWorld(t)
  const { create, change, passLog } = world
  assert.deepEqual(passLog.list(0), [], 'the initial lists are not changes')
  const metadata = { namespace: 'default', name: 'web' }
  const labels = { 'kubernetes.io/service-name': 'web' }
  const service = await create(services, { metadata, spec: { clusterIP: 'None', ports: [{ port: 80 }] } })
  const slice = await create(endpointSlices, {
    metadata: { namespace: 'default', name: 'web-1', labels },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['10.244.0.1'], conditions: { ready: false } }],
  })
  const ready = await change(endpointSlices, 'default/web-1', each => {
    return { ...each, endpoints: [{ addresses: ['10.244.0.1'], conditions: { ready: true } }] }
  })
  await change(endpointSlices, 'default/web-1', each => {
    return { ...each, metadata: { ...each.metadata, annotations: { a: 'b' } } }
  })
  await change(services, 'default/web', each => ({
    ...each,
    spec: { ...each.spec, sessionAffinity: 'ClientIP' },
  }))
  const passes = passLog.list(0)
  assert.deepEqual(
    passes.map(({ causes }) => causes),
    [service, slice, ready].map(({ metadata: { resourceVersion } }) => [Number(resourceVersion)]),
  )
  for (const { component, node, key, steps } of passes) {
    assert.deepEqual([component, node, key], ['dns', 'n1', 'default/web'])
    assert.deepEqual(steps, [{ name: 'update-records', startMs: 0, durationMs: 0 }])
  }
})

test('answers follow the services, whether or not they are repeated', async t => {
  const world = await startDnsWorld(t)
  const { ask, client, run, settle } = world
  for (let times = 0; times < 2; times++) assert.equal(await ask(web), 'NXDOMAIN 5')
  for (const clusterIP of ['10.96.0.20', '10.96.0.21']) {
    await addService(world, 'web', { clusterIP })
    for (let times = 0; times < 2; times++) assert.equal(await ask(web), `${clusterIP} 5`)
    await run(client.delete(services, { namespace: 'default', name: 'web' }))
    await settle()
  }
  assert.equal(await ask(web), 'NXDOMAIN 5')
})

test('repeated answers have the case of the query, its id, and the addresses in different orders', async t => {
  const world = await startDnsWorld(t)
  await addService(world, 'web', { clusterIP: 'None' })
  const addresses = ['10.244.0.1', '10.244.0.2', '10.244.0.3']
  await world.create(endpointSlices, {
    metadata: { namespace: 'default', name: 'web', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: addresses.map(address => ({ addresses: [address] })),
    ports: [{ port: 80 }],
  })
  const orders = new Set<string>()
  for (let id = 1; id < 30; id++) orders.add((await world.ask(web)).replaceAll(/ 5|10.244.0./g, ''))
  assert.deepEqual([...orders].toSorted(), ['1, 2, 3', '2, 3, 1', '3, 1, 2'])
  for (const name of ['WeB.default.svc.cluster.local', web.toUpperCase()]) {
    for (const id of [1, 2]) {
      const answer = await world.query(name, { id })
      assert.deepEqual([answer?.id, answer?.questions[0]?.name, answer?.answers[0]?.name], [id, name, name])
    }
  }
})

test('names resolve while the API server is away, and fail before they are known', async t => {
  const known = await startDnsWorld(t)
  await addService(known, 'web', { clusterIP: '10.96.0.20' })
  known.cut()
  await addService(known, 'late', { clusterIP: '10.96.0.21' })
  for (let times = 0; times < 6; times++) {
    await known.advance(10_000)
    assert.equal(await known.ask(web), '10.96.0.20 5')
    assert.equal(await known.ask(`none.${web}`), 'NXDOMAIN 5')
    assert.equal(await known.ask('late.default.svc.cluster.local'), 'NXDOMAIN 5')
  }
  known.heal()
  await known.advance(60_000)
  assert.equal(await known.ask('late.default.svc.cluster.local'), '10.96.0.21 5')
  const unknown = await startDnsWorld(t, { isCut: true })
  await unknown.addUpstream(54, query => addressAnswer(query, '192.0.2.1'))
  assert.equal(await unknown.ask('example.com'), 'SERVFAIL', 'the configuration is not known yet')
  assert.equal(await unknown.ask(web), 'SERVFAIL')
  assert.equal(await unknown.get('/ready'), 'kubernetes')
  await unknown.advance(5_000)
  assert.equal(await unknown.ask('example.com'), '192.0.2.1 60', 'it is not waited for any longer')
  assert.equal(await unknown.ask(web), 'SERVFAIL')
  unknown.heal()
  await unknown.advance(60_000)
  assert.equal(await unknown.ask(web), 'NXDOMAIN 5')
  assert.equal(await unknown.get('/ready'), 'OK')
})

test('stub domains and upstream servers of the Corefile are used at once, until it is deleted', async t => {
  const world = await startDnsWorld(t)
  const { address, ask, addUpstream, setCorefile } = world
  await addUpstream(54, query => addressAnswer(query, '192.0.2.54'))
  await addUpstream(55, query => addressAnswer(query, '192.0.2.55'))
  await addUpstream(56, query => addressAnswer(query, '192.0.2.56'))
  assert.equal(await ask('www.acme.test'), '192.0.2.54 60')
  await setCorefile(`
    .:53 {
      kubernetes cluster.local { 
        ttl 9
      }
      forward . ${address}:55
    }
    acme.test:53 {
      forward . ${address}:56
    }`)
  assert.equal(await ask('www.acme.test'), '192.0.2.56 60')
  assert.equal(await ask('acme.test'), '192.0.2.56 60')
  assert.equal(await ask('www.test'), '192.0.2.55 60')
  assert.equal(await ask(web), 'NXDOMAIN 9')
  assert.equal(await ask('10-244-0-1.default.pod.cluster.local'), 'NXDOMAIN 9')
  await world.run(world.client.delete(configMaps, dnsConfigMap))
  await world.settle()
  assert.equal(await ask('www.acme.test'), '192.0.2.54 60')
  assert.equal(await ask('10-244-0-1.default.pod.cluster.local'), '10.244.0.1 5')
})

test('a Corefile that exists at the start is used from the first answer on', async t => {
  const world = await startDnsWorld(t, { corefile: 'acme.test {\nhosts {\n192.0.2.7 www.acme.test\n}\n}' })
  assert.equal(await world.ask('www.acme.test'), '192.0.2.7 3600')
  assert.equal(await world.ask('www.test'), 'REFUSED', 'no server block has this zone')
})

test('an invalid Corefile changes nothing and has an event', async t => {
  const world = await startDnsWorld(t)
  const { ask, setCorefile } = world
  await addService(world, 'web', { clusterIP: '10.96.0.20' })
  await setCorefile('. {\n  kubernetes cluster.local {\n    ttl 7\n  }\n}')
  assert.equal(await ask(web), '10.96.0.20 7')
  await setCorefile('. {\n  kubernetes cluster.local\n  template IN A\n}')
  await setCorefile('. {\n  kubernetes cluster.local\n  template IN A\n}\n')
  assert.equal(await ask(web), '10.96.0.20 7')
  const written = (await world.list(events, 'kube-system')).filter(
    ({ reason }) => reason === 'InvalidCorefile',
  )
  const [event] = written
  assert.equal(written.length, 2)
  assert.deepEqual(
    [event?.type, event?.involvedObject.kind, event?.involvedObject.name, event?.message],
    [
      'Warning',
      'ConfigMap',
      'coredns',
      'Corefile line 3: plugin "template" is not supported. The DNS servers keep their configuration.',
    ],
  )
  assert.match(await world.get('/metrics'), /^coredns_reload_failed_total 2$/m)
  await setCorefile('. {\n  kubernetes cluster.local {\n    ttl 8\n  }\n}')
  assert.equal(await ask(web), '10.96.0.20 8')
})

test('hosts, rewrites, verified pods and fallthrough', async t => {
  const world = await startDnsWorld(t)
  const { ask, address } = world
  await world.addUpstream(54, query => addressAnswer(query, '192.0.2.54'))
  await addService(world, 'web', { clusterIP: '10.96.0.20' })
  await world.setCorefile(`. {
    rewrite name shop.test ${web}
    rewrite name suffix .old.test .default.svc.cluster.local
    hosts {
      192.0.2.1 db.test
      192.0.2.2 db.test
      2001:db8::1 db.test
      ttl 60
      fallthrough
    }
    kubernetes cluster.local in-addr.arpa {
      pods verified
      fallthrough in-addr.arpa
    }
    forward . ${address}:54 {
      except private.test
    }
  }`)
  assert.equal(await ask('shop.test'), '10.96.0.20 5')
  const rewritten = await world.query('Web.OLD.test')
  assert.deepEqual(
    [rewritten?.questions[0]?.name, rewritten?.answers[0]?.name],
    ['Web.OLD.test', 'Web.OLD.test'],
  )
  assert.deepEqual((await ask('db.test')).split(', ').toSorted(), ['192.0.2.1 60', '192.0.2.2 60'])
  assert.equal(await ask('db.test', 'AAAA'), '2001:db8::1 60')
  assert.equal(await ask('db.test', 'SRV'), 'NODATA')
  assert.equal(await ask('1.2.0.192.in-addr.arpa', 'PTR'), 'db.test 60')
  assert.equal(await ask('20.0.96.10.in-addr.arpa', 'PTR'), `${web} 5`)
  assert.equal(await ask('www.private.test'), 'SERVFAIL')
  const podName = '10-244-0-9.default.pod.cluster.local'
  assert.equal(await ask(podName), 'NXDOMAIN 5')
  const containers = [{ name: 'main', image: 'busybox' }]
  await world.create(pods, { metadata: { namespace: 'default', name: 'p' }, spec: { containers } })
  await world.changeStatus(pods, 'default/p', pod => ({
    ...pod,
    status: { ...pod.status, phase: 'Running', podIP: '10.244.0.9', podIPs: [{ ip: '10.244.0.9' }] },
  }))
  assert.equal(await ask(podName), '10.244.0.9 5')
})

test('forwarded answers are cached with their TTLs, denials with that of the SOA record', async t => {
  const world = await startDnsWorld(t)
  const { ask, advance } = world
  const asked = await world.addUpstream(54, query => {
    const name = query.questions[0]!.name.toLowerCase()
    if (name === 'none.test') return denial(10)
    if (name === 'bare.test') return { responseCode: 3 }
    return addressAnswer(query, '192.0.2.1', 20)
  })
  for (const name of ['www.test', 'WWW.test', 'none.test', 'none.test', 'bare.test', 'bare.test'])
    await ask(name)
  assert.deepEqual(asked.splice(0), ['udp www.test', 'udp none.test', 'udp bare.test', 'udp bare.test'])
  const cased = await world.query('wWw.test')
  assert.equal(cased?.answers[0]?.name, 'wWw.test')
  await advance(5_000)
  assert.match(await ask('www.test'), /^192.0.2.1 1[3-5]$/)
  assert.match(await ask('none.test'), /^NXDOMAIN [3-5]$/)
  await advance(6_000)
  assert.equal(await ask('none.test'), 'NXDOMAIN 10')
  assert.match(await ask('www.test'), /^192.0.2.1 [7-9]$/)
  await advance(10_000)
  assert.equal(await ask('www.test'), '192.0.2.1 20')
  assert.deepEqual(asked, ['udp none.test', 'udp www.test'])
})

test('expired answers are served while no upstream server answers, for an hour', async t => {
  const world = await startDnsWorld(t)
  let isDown = false
  await world.addUpstream(54, query => (isDown ? undefined : addressAnswer(query, '192.0.2.1', 20)))
  assert.equal(await world.ask('www.test'), '192.0.2.1 20')
  isDown = true
  await world.advance(60_000)
  for (let times = 0; times < 3; times++) assert.equal(await world.ask('www.test'), '192.0.2.1 30')
  assert.equal(await world.ask('other.test'), 'SERVFAIL')
  assert.match(await world.get('/metrics'), /^coredns_cache_served_stale_total\{.*\} 3$/m)
  isDown = false
  await world.advance(15_000)
  await world.ask('www.test')
  assert.match(await world.ask('www.test'), /^192.0.2.1 (19|20)$/)
  isDown = true
  await world.advance(3_700_000)
  assert.equal(await world.ask('www.test'), 'SERVFAIL')
})

test('upstream servers: truncated answers over TCP, none of EDNS, forced TCP, in order', async t => {
  const world = await startDnsWorld(t)
  const { address, ask } = world
  const many = (query: DnsMessage): Partial<DnsMessage> => ({
    answers: Array.from({ length: 60 }, () => addressAnswer(query, '192.0.2.1').answers!).flat(),
  })
  const large = await world.addUpstream(54, many)
  const edns = { udpBytesMax: 1_232, version: 0, dnssecOk: false }
  assert.equal((await world.query('large.test', { edns }))?.answers.length, 60)
  assert.deepEqual(large, ['udp large.test', 'tcp large.test'])
  const old = await world.addUpstream(55, query => {
    return query.edns ? { responseCode: 1, edns: undefined as never } : addressAnswer(query, '192.0.2.2')
  })
  await world.setCorefile(
    `old.test {\nforward . ${address}:55\n}\ntcp.test {\nforward . ${address}:54 {\nforce_tcp\n}\n}`,
  )
  assert.equal(await ask('old.test'), '192.0.2.2 60')
  assert.equal(old.length, 2)
  await ask('tcp.test')
  assert.equal(large.at(-1), 'tcp tcp.test')
  await world.addUpstream(56, query => addressAnswer(query, '192.0.2.56'))
  await world.setCorefile(`. {\nforward . ${address}:57 ${address}:56 {\npolicy sequential\n}\n}`)
  assert.equal(await ask('www.test'), '192.0.2.56 60', 'nothing listens at port 57')
})

test('an answer that an upstream server of an earlier Corefile still sends is not cached', async t => {
  const world = await startDnsWorld(t)
  const corefile = `. {\nforward . ${world.address}:55\ncache\n}`
  await world.addUpstream(54, async () => {
    await world.client.create(configMaps, { metadata: dnsConfigMap, data: { Corefile: corefile } })
    await world.platform.clock.sleep(500)
    return { answers: [addressRecord('www.test', '192.0.2.54', 600)] }
  })
  await world.addUpstream(55, query => addressAnswer(query, '192.0.2.55'))
  assert.equal(await world.ask('www.test'), '192.0.2.54 600')
  for (let times = 0; times < 2; times++) assert.match(await world.ask('www.test'), /^192.0.2.55 /)
})

test('a client with many queries to slow upstream servers leaves room for others', async t => {
  const world = await startDnsWorld(t)
  await world.addUpstream(54, () => undefined)
  const { network } = world.simulation.host('flooding')
  const socket = await world.run(network.bindDatagram({ host: 'flooding', port: 0 }, () => undefined))
  for (let index = 0; index < 700; index++) {
    const questions = [{ name: `n${index}.test`, type: recordTypes.A, class: 1 }]
    const message = { ...plainQuery, questions }
    socket.send(serializeDnsMessage(message, 512), { host: 'control-plane', port: 53 })
  }
  await world.advance(500)
  assert.match(await world.get('/metrics'), /^coredns_forward_max_concurrent_rejects_total 200$/m)
  assert.equal(await world.ask(web), 'NXDOMAIN 5')
})

const plainQuery: DnsMessage = parseDnsMessage(new Uint8Array(12))!
