import assert from 'node:assert/strict'
import test, { describe } from 'node:test'
import { services } from '#/api/generated/core/v1-resources.ts'
import type { Endpoint } from '#/api/generated/discovery/v1.ts'
import { proxyModes } from '#/proxy/proxier.ts'
import { answers, at, eventually, pods, ServiceWorld } from './service-world.ts'

const brief = { timeoutMs: 300 }

function inState(endpoint: Endpoint, conditions: NonNullable<Endpoint['conditions']>): Endpoint {
  return { ...endpoint, conditions: { ...endpoint.conditions, ...conditions } }
}

for (const mode of proxyModes) {
  describe(`policies of services, mode ${mode}`, () => {
    let world: ServiceWorld
    const ends: (() => Promise<void>)[] = []
    test.before(async () => {
      world = await ServiceWorld.start({ after: end => void ends.push(end as () => Promise<void>) }, mode)
      // A martian packet of the last test must reach the node.
      const { linux } = world.net.node
      await linux.run(['sh', '-c', 'echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet'])
      await world.net.node.agent.serve('secret', 'tcp', 9_999, '127.0.0.1')
      await makeMartian(world)
      assert.match(await world.other.agent.ask('tcp', '127.0.0.1:9999', brief), /^secret /)
      await world.startProxy({
        network: { nodePortAddresses: ['198.51.100.0/24'] },
      })
    })
    test.after(async () => {
      for (const end of ends.toReversed()) await end()
    })

    test('internalTrafficPolicy Local uses endpoints of this node only, and drops without them', async () => {
      const { a } = world
      const spec = { clusterIP: '10.96.0.40', internalTrafficPolicy: 'Local' }
      await world.service('inside', spec, [at(pods.a, 'n2'), at(pods.b)])
      const ask = (): Promise<string> => a.agent.ask('tcp', '10.96.0.40:80', brief)
      await eventually(ask, /^b /)
      const seen = await answers(20, async () => (await ask()).slice(0, 1))
      assert.deepEqual([...seen], ['b'])
      await world.endpoints('inside', [at(pods.a, 'n2')])
      await eventually(ask, /^silence$/)
    })

    test('terminating endpoints get connections only while no endpoint is ready', async () => {
      const { a } = world
      const leaving = { ready: false, serving: true, terminating: true }
      const ask = async (): Promise<string> => (await a.agent.ask('tcp', '10.96.0.41:80', brief)).slice(0, 1)
      await world.service('leaving', { clusterIP: '10.96.0.41' }, [inState(at(pods.a), leaving), at(pods.b)])
      await eventually(ask, /^b/)
      assert.deepEqual([...(await answers(20, ask))], ['b'])
      await world.endpoints('leaving', [inState(at(pods.a), leaving)])
      await eventually(ask, /^a/)
      await world.endpoints('leaving', [inState(at(pods.a), { ...leaving, serving: false })])
      await eventually(() => a.agent.ask('tcp', '10.96.0.41:80', brief), /^ECONNREFUSED$/)
      // With publishNotReadyAddresses pods that do not serve are ready in their slices.
      await world.endpoints('leaving', [
        inState(at(pods.a), { ready: true, serving: false, terminating: true }),
      ])
      await eventually(ask, /^a/)
    })

    test('hints of a trafficDistribution are followed', async () => {
      const { a } = world
      const hinted = (address: string, node: string): Endpoint => ({
        ...at(address, node),
        hints: { forNodes: [{ name: node }] },
      })
      const ask = async (): Promise<string> => (await a.agent.ask('tcp', '10.96.0.42:80', brief)).slice(0, 1)
      await world.service('near', { clusterIP: '10.96.0.42' }, [hinted(pods.a, 'n2'), hinted(pods.b, 'n1')])
      await eventually(ask, /^b/)
      assert.deepEqual([...(await answers(20, ask))], ['b'])
    })

    test('a client that pauses for longer than the timeout of its affinity may change its endpoint', async () => {
      const { a } = world
      const sessionAffinityConfig = { clientIP: { timeoutSeconds: 1 } }
      const spec = { clusterIP: '10.96.0.43', sessionAffinity: 'ClientIP', sessionAffinityConfig }
      await world.service('briefly', spec, [at(pods.a), at(pods.b)])
      const ask = async (): Promise<string> => (await a.agent.ask('tcp', '10.96.0.43:80', brief)).slice(0, 1)
      await eventually(ask, /^[ab]/)
      const seen = new Set<string>()
      for (let tries = 0; tries < 20 && seen.size < 2; tries++) {
        seen.add(await ask())
        await new Promise(resolve => setTimeout(resolve, 1_500))
      }
      assert.deepEqual(seen, new Set(['a', 'b']))
    })

    test('a load balancer IP with ipMode Proxy is left to the load balancer', async () => {
      const { stranger } = world
      const { client } = world.api
      await world.service('proxied', { type: 'LoadBalancer', clusterIP: '10.96.0.44' }, [at(pods.a)])
      const write = async (ipMode: string): Promise<void> => {
        const service = await client.get(services, { namespace: 'default', name: 'proxied' })
        const status = { loadBalancer: { ingress: [{ ip: '192.0.2.44', ipMode }] } }
        await client.updateStatus(services, { ...service, status })
      }
      await write('VIP')
      await eventually(() => stranger.agent.ask('tcp', '192.0.2.44:80', brief), /^a /)
      await write('Proxy')
      await eventually(() => stranger.agent.ask('tcp', '192.0.2.44:80', brief), /^(silence|E.*)$/)
    })

    test('externalIPs reach the endpoints', async () => {
      const { stranger, net, a } = world
      const spec = { clusterIP: '10.96.0.45', externalIPs: ['192.0.2.45'] }
      await world.service('external', spec, [at(pods.b)])
      await eventually(() => stranger.agent.ask('tcp', '192.0.2.45:80', brief), /^b /)
      for (const { agent } of [net.node, a]) assert.match(await agent.ask('udp', '192.0.2.45:80'), /^b /)
    })

    test('nodePortAddresses restricts node ports', async () => {
      const { stranger, a } = world
      const ports = [{ name: 'tcp', port: 80, nodePort: 30_046 }]
      await world.service('ported', { type: 'NodePort', clusterIP: '10.96.0.46', ports }, [at(pods.b)])
      await eventually(() => stranger.agent.ask('tcp', '198.51.100.1:30046', brief), /^b /)
      assert.equal(await a.agent.ask('tcp', '169.254.1.1:30046', brief), 'ECONNREFUSED')
    })

    test('packets of other hosts to loopback addresses are dropped', async () => {
      assert.equal(await world.other.agent.ask('tcp', '127.0.0.1:9999', brief), 'silence')
      assert.match(await world.net.node.agent.ask('tcp', '127.0.0.1:9999'), /^secret /)
    })
  })
}

/** Makes an external client send packets to loopback addresses to the node: CVE-2020-8558. */
async function makeMartian({ other }: ServiceWorld): Promise<void> {
  const commands = [
    'echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet',
    'ip address del 127.0.0.1/8 dev lo',
    'ip route add 127.0.0.0/8 via 198.51.100.1 src 198.51.100.3',
  ]
  await other.linux.run(['sh', '-ec', commands.join('\n')])
}
