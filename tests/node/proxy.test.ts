import assert from 'node:assert/strict'
import test, { before, describe } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { services } from '#/api/generated/core/v1-resources.ts'
import { endpointSlices } from '#/api/generated/discovery/v1-resources.ts'
import { removeNftablesTables } from '#/nftables/nftables-tables.ts'
import { proxyModes } from '#/proxy/proxier.ts'
import { ServiceProxy } from '#/proxy/proxy.ts'
import { answers, at, eventually, network, pods, ServiceWorld } from './service-world.ts'
import { startTestApiServer } from './test-api-server.ts'
import { TestNetwork } from './test-network.ts'

const withoutSources =
  'the mode userspace has no external traffic policy, since it does not keep source addresses'

for (const mode of proxyModes) {
  describe(`services on a real node, mode ${mode}`, () => {
    /** Connections of the mode userspace come from the node. */
    const keepsSources = mode !== 'userspace'
    let world: ServiceWorld
    const ends: (() => Promise<void>)[] = []
    before(async () => {
      world = await ServiceWorld.start({ after: end => void ends.push(end as () => Promise<void>) }, mode)
      await world.startProxy()
    })
    test.after(async () => {
      for (const end of ends.toReversed()) await end()
    })

    test('pods, the node and external clients reach a cluster IP; the source address of pods is kept', async () => {
      const { a, stranger, net } = world
      await world.service('one', { clusterIP: '10.96.0.20' }, [at(pods.b)])
      for (const protocol of ['tcp', 'udp'] as const) {
        const answer = keepsSources ? /^b 10\.244\.0\.11$/ : /^b /
        await eventually(() => a.agent.ask(protocol, '10.96.0.20:80'), answer)
        assert.match(await net.node.agent.ask(protocol, '10.96.0.20:80'), /^b /)
        // External clients are masqueraded, so that responses return through the node.
        assert.match(await stranger.agent.ask(protocol, '10.96.0.20:80'), /^b (?!198\.51\.100\.2)/)
      }
    })

    test('connections are spread over all endpoints, and a pod reaches itself through its service', async () => {
      const { a, stranger } = world
      await world.service('both', { clusterIP: '10.96.0.21' }, [at(pods.a), at(pods.b)])
      await eventually(() => stranger.agent.ask('tcp', '10.96.0.21:80'), /^[ab] /)
      const seen = await answers(60, () => a.agent.ask('tcp', '10.96.0.21:80'))
      const names = new Set([...seen].map(answer => answer.slice(0, 1)))
      assert.deepEqual(names, new Set(['a', 'b']), [...seen].join('; '))
      // Hairpin connections are masqueraded: otherwise the response would not come from the service address.
      assert([...seen].some(answer => answer.startsWith('a ') && answer !== `a ${pods.a}`))
      assert.equal(seen.has(`b ${pods.a}`), keepsSources)
    })

    test('connections to a service without endpoints are refused on all its addresses', async () => {
      const { a, stranger, net } = world
      const spec = { type: 'NodePort', clusterIP: '10.96.0.22', externalIPs: ['192.0.2.22'] }
      const ports = [
        { name: 'tcp', port: 80, protocol: 'TCP', nodePort: 30022 },
        { name: 'udp', port: 80, protocol: 'UDP', nodePort: 30022 },
      ]
      await world.service('none', { ...spec, ports }, [])
      for (const protocol of ['tcp', 'udp'] as const) {
        await eventually(() => a.agent.ask(protocol, '10.96.0.22:80'), /^ECONNREFUSED$/)
        for (const { agent } of [stranger, net.node]) {
          assert.equal(await agent.ask(protocol, '10.96.0.22:80'), 'ECONNREFUSED')
          assert.equal(await agent.ask(protocol, '192.0.2.22:80'), 'ECONNREFUSED')
          assert.equal(await agent.ask(protocol, '198.51.100.1:30022'), 'ECONNREFUSED')
        }
      }
      // A port that the service does not have, and an unassigned cluster IP.
      assert.equal(await a.agent.ask('tcp', '10.96.0.22:81'), 'ECONNREFUSED')
      assert.equal(await a.agent.ask('tcp', '10.96.77.77:80', { timeoutMs: 300 }), 'silence')
      await world.endpoints('none', [at(pods.b)])
      await eventually(() => stranger.agent.ask('udp', '192.0.2.22:80'), /^b /)
    })

    test('node ports are open on every node address except loopback', async () => {
      const { a, b, stranger, net } = world
      const ports = [{ name: 'tcp', port: 80, nodePort: 30023 }]
      await world.service('port', { type: 'NodePort', clusterIP: '10.96.0.23', ports }, [at(pods.b)])
      await eventually(() => stranger.agent.ask('tcp', '198.51.100.1:30023'), /^b (?!198\.51\.100\.2)/)
      for (const { agent } of [net.node, a, b])
        assert.match(await agent.ask('tcp', '198.51.100.1:30023'), /^b /)
      assert.match(await a.agent.ask('tcp', '169.254.1.1:30023'), /^b /)
      assert.equal(await net.node.agent.ask('tcp', '127.0.0.1:30023'), 'ECONNREFUSED')
    })

    test('externalTrafficPolicy Local keeps the source address and drops without a local endpoint', async t => {
      if (!keepsSources) return t.skip(withoutSources)
      const { a, stranger, net } = world
      const ports = [{ name: 'tcp', port: 80, nodePort: 30024 }]
      const spec = { type: 'NodePort', clusterIP: '10.96.0.24', externalTrafficPolicy: 'Local', ports }
      await world.service('local', spec, [at(pods.b)])
      await eventually(() => stranger.agent.ask('tcp', '198.51.100.1:30024'), /^b 198\.51\.100\.2$/)
      await world.endpoints('local', [at(pods.b, 'n2')])
      const ask = (): Promise<string> => stranger.agent.ask('tcp', '198.51.100.1:30024', { timeoutMs: 300 })
      await eventually(ask, /^silence$/)
      // Pods and the node itself are served by any endpoint.
      assert.match(await a.agent.ask('tcp', '198.51.100.1:30024'), /^b 10\.244\.0\.11$/)
      assert.match(await net.node.agent.ask('tcp', '198.51.100.1:30024'), /^b /)
    })

    test('a load balancer IP accepts clients in loadBalancerSourceRanges only', async () => {
      const { stranger, other, net } = world
      const { client } = world.api
      const spec = {
        type: 'LoadBalancer',
        clusterIP: '10.96.0.25',
        loadBalancerSourceRanges: ['198.51.100.2/32'],
      }
      await world.service('balanced', spec, [at(pods.a)])
      const service = await client.get(services, { namespace: 'default', name: 'balanced' })
      const ingress = [{ ip: '192.0.2.25', ipMode: 'VIP' }]
      await client.updateStatus(services, { ...service, status: { loadBalancer: { ingress } } })
      await eventually(() => stranger.agent.ask('tcp', '192.0.2.25:80', { timeoutMs: 300 }), /^a /)
      assert.equal(await other.agent.ask('tcp', '192.0.2.25:80', { timeoutMs: 300 }), 'silence')
      assert.equal(await net.node.agent.ask('tcp', '192.0.2.25:80', { timeoutMs: 300 }), 'silence')
      const current = await client.get(services, { namespace: 'default', name: 'balanced' })
      const { loadBalancerSourceRanges: _ranges, ...open } = current.spec ?? {}
      await client.update(services, { ...current, spec: open })
      for (const { agent } of [other, net.node]) {
        await eventually(() => agent.ask('tcp', '192.0.2.25:80', { timeoutMs: 300 }), /^a /)
      }
    })

    test('an endpoint may be an address of the node', async () => {
      const { a, net } = world
      const metadata = { namespace: 'default', name: 'api' }
      await world.api.client.create(services, {
        metadata,
        spec: { clusterIP: '10.96.0.26', ports: [{ port: 443 }] },
      })
      await world.api.client.create(endpointSlices, {
        metadata: { ...metadata, labels: { 'kubernetes.io/service-name': 'api' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['198.51.100.1'] }],
        ports: [{ name: '', port: 6443, protocol: 'TCP' }],
      })
      await eventually(
        () => a.agent.ask('tcp', '10.96.0.26:443'),
        keepsSources ? /^node 10\.244\.0\.11$/ : /^node /,
      )
      assert.match(await net.node.agent.ask('tcp', '10.96.0.26:443'), /^node /)
    })

    test('session affinity keeps the endpoint of a client, also after a restart of the proxy', async () => {
      const { a, stranger } = world
      const spec = { clusterIP: '10.96.0.27', sessionAffinity: 'ClientIP' }
      await world.service('sticky', spec, [at(pods.a), at(pods.b)])
      await eventually(() => stranger.agent.ask('tcp', '10.96.0.27:80'), /^[ab] /)
      const first = await a.agent.ask('udp', '10.96.0.27:80')
      assert.deepEqual([...(await answers(20, () => a.agent.ask('udp', '10.96.0.27:80')))], [first])
      if (mode !== 'userspace') {
        // The kernel remembers clients.
        const again = await world.startProxy()
        assert.deepEqual([...(await answers(20, () => a.agent.ask('udp', '10.96.0.27:80')))], [first])
        await again.stop()
      }
      const gone = first.startsWith('a ') ? pods.a : pods.b
      await world.endpoints('sticky', [at(gone === pods.a ? pods.b : pods.a)])
      const left = gone === pods.a ? /^b / : /^a /
      await eventually(() => a.agent.ask('udp', '10.96.0.27:80'), left)
      assert.match(await stranger.agent.ask('tcp', '10.96.0.27:80'), left)
    })

    test('a continuous UDP flow moves to another endpoint when its endpoint is removed', async () => {
      const { stranger } = world
      await world.service('flow', { clusterIP: '10.96.0.28' }, [at(pods.a)])
      const ask = (): Promise<string> =>
        stranger.agent.ask('udp', '10.96.0.28:80', { localPort: 5353, timeoutMs: 300 })
      await eventually(ask, /^a /)
      await world.endpoints('flow', [at(pods.b)])
      await eventually(ask, /^b /)
      await world.endpoints('flow', [])
      await eventually(ask, /^ECONNREFUSED$/)
    })

    test('a dual-stack service is reachable over IPv4 and IPv6', async () => {
      const { a, stranger, net } = world
      const clusterIPs = ['10.96.0.29', 'fd00:96::29']
      const spec = {
        clusterIP: '10.96.0.29',
        clusterIPs,
        ipFamilyPolicy: 'RequireDualStack',
        type: 'NodePort',
      }
      const ports = [{ name: 'tcp', port: 80, nodePort: 30029 }]
      await world.service('dual', { ...spec, ports }, [at(pods.b), at('fd00:244::b')])
      await eventually(() => a.agent.ask('tcp', '10.96.0.29:80'), keepsSources ? /^b 10\.244\.0\.11$/ : /^b /)
      const overIpv6 = await a.agent.ask('tcp', '[fd00:96::29]:80')
      assert.match(overIpv6, keepsSources ? /^b fd00:244::a$/ : /^b /)
      assert.match(await stranger.agent.ask('tcp', '[2001:db8:51::1]:30029'), /^b fd00|^b 2001|^b fe80/)
      assert.match(await net.node.agent.ask('tcp', '[fd00:96::29]:80'), /^b /)
      await world.endpoints('dual', [at(pods.b)])
      await eventually(() => a.agent.ask('tcp', '[fd00:96::29]:80'), /^ECONNREFUSED$/)
      assert.match(await a.agent.ask('tcp', '10.96.0.29:80'), /^b /)
    })

    test('healthCheckNodePort reports whether the node has local endpoints', async () => {
      const spec = { type: 'LoadBalancer', clusterIP: '10.96.0.30', externalTrafficPolicy: 'Local' }
      await world.service('checked', spec, [at(pods.a), at(pods.b, 'n2')])
      const { client } = world.api
      const service = await client.get(services, { namespace: 'default', name: 'checked' })
      const url = `http://127.0.0.1:${service.spec?.healthCheckNodePort}/`
      const ask = async (): Promise<string> => {
        const response = await fetch(url).catch(() => undefined)
        return response ? `${response.status} ${await response.text()}` : 'closed'
      }
      const told = (count: number): string => {
        const of = { namespace: 'default', name: 'checked' }
        return JSON.stringify({ service: of, localEndpoints: count, serviceProxyHealthy: true })
      }
      await eventually(ask, /^200/)
      assert.equal(await ask(), `200 ${told(1)}`)
      await world.endpoints('checked', [at(pods.b, 'n2')])
      await eventually(ask, /^503/)
      assert.equal(await ask(), `503 ${told(0)}`)
      await client.delete(services, { namespace: 'default', name: 'checked' })
      await eventually(ask, /^closed$/)
    })

    test('rules removed by another program are restored with the next change', async () => {
      const { a, net } = world
      await world.service('kept', { clusterIP: '10.96.0.31' }, [at(pods.a)])
      await eventually(() => a.agent.ask('tcp', '10.96.0.31:80', { timeoutMs: 300 }), /^a /)
      await net.node.linux.run(['nft', 'flush', 'ruleset'])
      assert.equal(await a.agent.ask('tcp', '10.96.0.31:80', { timeoutMs: 300 }), 'silence')
      await world.endpoints('kept', [at(pods.b)])
      await eventually(() => a.agent.ask('tcp', '10.96.0.31:80', { timeoutMs: 300 }), /^b /)
      // A service with names of maximum length.
      const name = 'n'.repeat(63)
      const ports = [{ name: 'p'.repeat(15), port: 80 }]
      await world.service(name, { clusterIP: '10.96.0.32', sessionAffinity: 'ClientIP', ports }, [])
      await eventually(() => a.agent.ask('tcp', '10.96.0.32:80', { timeoutMs: 300 }), /^ECONNREFUSED$/)
    })

    test('no connection fails while endpoints and services are added and removed', async () => {
      const { a, stranger } = world
      await world.service('steady', { clusterIP: '10.96.0.33' }, [at(pods.a)])
      await eventually(() => a.agent.ask('tcp', '10.96.0.33:80'), /^a /)
      let isOver = false
      const wrong: string[] = []
      const asking = [a, stranger].map(async ({ agent }) => {
        while (!isOver) {
          const answer = await agent.ask('tcp', '10.96.0.33:80')
          if (!/^[ab] /.test(answer)) wrong.push(answer)
        }
      })
      for (let round = 0; round < 25; round++) {
        await world.endpoints('steady', [[at(pods.a)], [at(pods.b)], [at(pods.a), at(pods.b)]][round % 3]!)
        const name = `passing-${round % 5}`
        if (round < 5) await world.service(name, {}, [at(pods.b)])
        else await world.endpoints(name, round % 2 ? [] : [at(pods.a)])
      }
      isOver = true
      await Promise.all(asking)
      assert.deepEqual(wrong, [])
      for (let number = 0; number < 5; number++) {
        await world.api.client.delete(services, { namespace: 'default', name: `passing-${number}` })
      }
      const list = mode === 'nftables' ? ['nft', 'list', 'table', 'ip', network.table] : ['iptables-save']
      await eventually(async () => {
        return (await world.net.node.linux.run(list)).includes('passing') ? 'there' : 'gone'
      }, /^gone$/)
    })
  })
}

test('cleanup removes the table, and succeeds when there is none', async t => {
  const { node } = await TestNetwork.create(t)
  const { platform, clientAs, client } = await startTestApiServer(t)
  const stopping = new AbortController()
  const proxy = new ServiceProxy({
    platform,
    linux: node.linux,
    client: clientAs('system:kube-proxy'),
    nodeName: 'n1',
    network,
  })
  const running = proxy.run(stopping.signal)
  await proxy.synced
  stopping.abort()
  await running
  assert.match(await node.linux.run(['nft', 'list', 'ruleset']), /k8ts0-proxy/)
  for (let times = 0; times < 2; times++) {
    await removeNftablesTables(node.linux, 'k8ts0-proxy')
    assert.equal(await node.linux.run(['nft', 'list', 'ruleset']), '')
  }
  // The proxy has only the rights that it needs.
  await assert.rejects(
    clientAs('system:kube-proxy').delete(services, { namespace: 'default', name: 'kubernetes' }),
    error => isApiError(error, 'Forbidden'),
  )
  assert((await client.find(services, { namespace: 'default', name: 'kubernetes' })) !== undefined)
})
