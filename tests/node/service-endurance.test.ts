/** Services while their endpoints, their rules or the API server change or fail. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Endpoint } from '#/api/generated/discovery/v1.ts'
import { planService } from '#/proxy/plan.ts'
import { createProxier } from '#/proxy/proxy-modes.ts'
import { proxyModes } from '#/proxy/proxier.ts'
import { at, eventually, network, pods, ServiceWorld } from './service-world.ts'

/** Answers of connections that are opened at a steady rate until stopped. */
class Stream {
  readonly answers = new Map<string, number>()
  readonly #asking: Promise<void>[] = []
  readonly #timer: NodeJS.Timeout

  constructor(ask: () => Promise<string>) {
    this.#timer = setInterval(() => {
      const asked = ask().then(answer => {
        const name = /^[ab] /.test(answer) ? answer.slice(0, 1) : answer
        this.answers.set(name, (this.answers.get(name) ?? 0) + 1)
      })
      this.#asking.push(asked)
    }, intervalMs)
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(this.#asking)
  }
}

/** A hundred connections in each second. */
const intervalMs = 10

function leaving(address: string): Endpoint {
  return { ...at(address), conditions: { ready: false, serving: true, terminating: true } }
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

for (const mode of proxyModes) {
  test(`a rolling change of endpoints fails no connection, mode ${mode}`, async t => {
    const world = await ServiceWorld.start(t, mode)
    const { stranger } = world
    await world.service('rolling', { clusterIP: '10.96.0.50' }, [at(pods.a)])
    const { stop } = await world.startProxy()
    await eventually(() => stranger.agent.ask('tcp', '10.96.0.50:80'), /^a /)
    const stream = new Stream(() => stranger.agent.ask('tcp', '10.96.0.50:80', { timeoutMs: 20_000 }))
    for (let round = 0; round < 4; round++) {
      const [before, after] = round % 2 === 0 ? [pods.a, pods.b] : [pods.b, pods.a]
      for (const endpoints of [[at(before), at(after)], [leaving(before), at(after)], [at(after)]]) {
        await world.endpoints('rolling', endpoints)
        await pause(200)
      }
    }
    await stream.stop()
    assert.deepEqual([...stream.answers.keys()].toSorted(), ['a', 'b'], [...stream.answers].join(' '))
    await stop()
  })

  test(`the end of an endpoint's process ends only its own connections, mode ${mode}`, async t => {
    const world = await ServiceWorld.start(t, mode)
    const { a, b, stranger } = world
    await a.agent.serveKeeping('a', 8_082)
    await b.agent.serveKeeping('b', 8_082)
    const endpoints = [at(pods.a), at(pods.b)]
    await world.service('held', { clusterIP: '10.96.0.51' }, endpoints, 8_082)
    const { stop } = await world.startProxy()
    await stranger.agent.hold('10.96.0.51:80', 40)
    const held = await stranger.agent.held()
    const ofB = held.filter(name => name === 'b')
    assert.equal(held.length, 40)
    assert(ofB.length > 0 && ofB.length < 40)
    await a.agent.stop()
    await world.endpoints('held', [at(pods.b)], 8_082)
    await eventually(async () => String((await stranger.agent.held()).length), new RegExp(`^${ofB.length}$`))
    assert.deepEqual(await stranger.agent.held(), ofB)
    await stop()
  })

  test(`connections succeed while the API server is away, mode ${mode}`, async t => {
    const ends: (() => Promise<void>)[] = []
    const world = await ServiceWorld.start({ after: end => void ends.push(end as () => Promise<void>) }, mode)
    t.after(async () => {
      for (const end of ends) await end()
    })
    await world.service('kept', { clusterIP: '10.96.0.52' }, [at(pods.a), at(pods.b)])
    const stopApiServer = ends.pop()
    const { proxy, stop } = await world.startProxy()
    await stopApiServer?.()
    const stream = new Stream(() => world.stranger.agent.ask('tcp', '10.96.0.52:80', { timeoutMs: 20_000 }))
    await pause(3_000)
    await stream.stop()
    assert.deepEqual([...stream.answers.keys()].toSorted(), ['a', 'b'], [...stream.answers].join(' '))
    assert.deepEqual(proxy.status, { mode })
    await stop()
  })
}

for (const mode of ['nftables', 'iptables'] as const) {
  test(`flushed rules are found and written again, mode ${mode}`, async t => {
    await checkFlushed(t, mode)
  })
}

async function checkFlushed(t: TestContext, mode: 'nftables' | 'iptables'): Promise<void> {
  const { net, a, api } = await ServiceWorld.start(t, mode)
  const { signal } = new AbortController()
  const { linux } = net.node
  const { platform } = api
  const { log } = platform
  await using proxier = createProxier(mode, { platform, linux, log, network, onFallback: assert.fail })
  const service = {
    metadata: { namespace: 'default', name: 'kept' },
    spec: { clusterIP: '10.96.0.53', ports: [{ port: 80, protocol: 'TCP' }] },
  }
  const slices = [
    { metadata: {}, addressType: 'IPv4', endpoints: [at(pods.b)], ports: [{ name: '', port: 8080 }] },
  ]
  const node = { name: 'n1', zone: '' }
  const { ports } = planService({ service, slices, node, families: [4] })
  proxier.set('default/kept', ports)
  const ask = async (): Promise<string> =>
    (await a.agent.ask('tcp', '10.96.0.53:80', { timeoutMs: 300 })).slice(0, 1)
  assert(await proxier.apply(0, signal))
  assert.equal(await ask(), 'b')
  assert(await proxier.verify(signal))
  const flushes = [
    ['nft', 'flush', 'ruleset'],
    ...(mode === 'iptables' ? [['iptables', '-t', 'nat', '-F']] : []),
  ]
  for (const flush of flushes) {
    await linux.run(flush)
    assert(!(await proxier.verify(signal)), flush.join(' '))
    await proxier.apply(0, signal)
    assert.equal(await ask(), 'b')
    // The next change finds it, too.
    await linux.run(flush)
    proxier.set(
      'default/other',
      planService({
        service: {
          ...service,
          metadata: { name: 'other' },
          spec: { ...service.spec, clusterIP: '10.96.0.54' },
        },
        slices,
        node,
        families: [4],
      }).ports,
    )
    assert(!(await proxier.apply(0, signal)))
    assert.equal(await ask(), 'b')
    proxier.set('default/other', [])
    assert(await proxier.apply(0, signal))
  }
}
