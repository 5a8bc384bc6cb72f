import assert from 'node:assert/strict'
import { test } from 'node:test'
import { leases } from '#/api/generated/coordination/v1-resources.ts'
import { isTime, parseMicroTime } from '#/api/text/time.ts'
import { MetricsRegistry } from '#/base/metrics.ts'
import { Simulation } from '#/platform/simulated.ts'
import { clientOf, type Client } from './client.ts'
import { inProcessTransport } from './in-process.ts'
import { LeaderElector, newIdentity } from './leader-election.ts'
import { LeaderElectionMetrics } from './leader-election-metrics.ts'
import { faultyTransport, type FaultOptions } from '#/simulation/faulty-transport.ts'
import { SmallServer } from './testdata/small-server.ts'

const lease = { namespace: 'kube-system', name: 'scheduler' }

test('one candidate leads; when it stops, the next acquires the released lease quickly', async () => {
  const world = new World(1)
  const [first, second] = [world.candidate('a'), world.candidate('b')]
  await world.simulation.advance(60_000)
  const leaders = [first, second].filter(({ election }) => election.isLeader)
  assert.equal(leaders.length, 1)
  const leader = leaders[0]!
  const other = leader === first ? second : first
  const stoppedMs = world.simulation.nowMs
  leader.stop.abort()
  await world.simulation.run(leader.run)
  await world.simulation.advance(5_000)
  assert.ok(other.election.isLeader)
  assert.ok(world.terms.at(-1)!.fromMs - stoppedMs < 5_000)
  world.check()
})

test('metrics show which candidate leads, and renewals that found the lease changed', async () => {
  const world = new World(4)
  const [a, b] = [world.candidate('a'), world.candidate('b')]
  await world.simulation.advance(60_000)
  const leader = a.election.isLeader ? a : b
  assert.deepEqual([a, b].map(statusOf), a === leader ? [1, 0] : [0, 1])
  const client = world.client('x')
  const held = await world.simulation.run(client.get(leases, lease))
  await world.simulation.run(
    client.update(leases, { ...held, metadata: { ...held.metadata, labels: { x: 'y' } } }),
  )
  await world.simulation.advance(10_000)
  assert.match(leader.metrics.render(), /leader_election_slowpath_total\{name="scheduler"\} 1\n/)
  leader.stop.abort()
  await world.simulation.run(leader.run)
  await world.simulation.advance(10_000)
  assert.deepEqual([a, b].map(statusOf), a === leader ? [0, 1] : [1, 0])
})

test('the health check fails when the lease has expired and the leader has not noticed', async () => {
  const world = new World(5)
  const { election } = world.candidate('a')
  assert.equal(election.renewalFailure(0), undefined)
  await world.simulation.advance(30_000)
  assert.ok(election.isLeader)
  assert.equal(election.renewalFailure(0), undefined)
  assert.equal(election.renewalFailure(-15_001), 'failed election to renew leadership on lease scheduler')
})

function statusOf({ metrics }: { readonly metrics: MetricsRegistry }): number {
  return Number(/leader_election_master_status\{name="scheduler"\} (\d)/.exec(metrics.render())?.[1])
}

test('the Lease has the holder, the acquire time and the transitions', async () => {
  const world = new World(2)
  const first = world.candidate('a')
  await world.simulation.advance(30_000)
  const held = await world.simulation.run(world.client('x').get(leases, lease))
  assert.equal(held.spec?.holderIdentity, first.identity)
  assert.deepEqual([held.spec?.leaseDurationSeconds, held.spec?.leaseTransitions], [15, 0])
  assert.ok(parseMicroTime(held.spec?.renewTime ?? '')! > parseMicroTime(held.spec?.acquireTime ?? '')!)
  assert.ok(!isTime(held.spec?.holderIdentity ?? ''))
  first.stop.abort()
  await world.simulation.run(first.run)
  const freed = await world.simulation.run(world.client('x').get(leases, lease))
  assert.deepEqual([freed.spec?.holderIdentity, freed.spec?.leaseDurationSeconds], ['', 1])
  world.candidate('b')
  await world.simulation.advance(10_000)
  const taken = await world.simulation.run(world.client('x').get(leases, lease))
  assert.equal(taken.spec?.leaseTransitions, 1)
})

test('a leader that cannot renew stops before another candidate acquires the lease', async () => {
  const world = new World(3)
  const first = world.candidate('a')
  await world.simulation.advance(20_000)
  const second = world.candidate('b')
  await world.simulation.advance(20_000)
  const cutMs = world.simulation.nowMs
  world.faultsOf('a').chance = 1
  await world.simulation.advance(12_001)
  assert.equal(first.election.isLeader, false)
  const [term] = world.terms
  assert.ok(term!.untilMs! - cutMs <= 10_000 && term!.untilMs! - cutMs >= 7_000)
  assert.equal(second.election.isLeader, false)
  await world.simulation.advance(15_000)
  assert.ok(second.election.isLeader)
  world.check()
})

test('an error of onStartedLeading is rethrown and the lease is released', async () => {
  const world = new World(4)
  const election = new LeaderElector({
    ...world.options('a'),
    identity: 'a',
    onStartedLeading: async () => Promise.reject(new Error('broken')),
  })
  await assert.rejects(world.simulation.run(election.run(new AbortController().signal)), /broken/)
  const freed = await world.simulation.run(world.client('x').get(leases, lease))
  assert.equal(freed.spec?.holderIdentity, '')
})

test('there are never two leaders, despite clock skew, lost responses, stalls and crashes', async () => {
  let terms = 0
  for (let seed = 1; seed <= 15; seed++) {
    const world = new World(seed)
    const { simulation } = world
    const names = ['a', 'b', 'c']
    for (const name of names) {
      simulation.host(name).jumpClock(simulation.random.integer('skew', 7_200_000) - 3_600_000)
      world.candidate(name)
    }
    for (let round = 0; round < 12; round++) {
      const name = names[simulation.random.integer('who', names.length)]!
      world.faultsOf(name).chance = [0, 0.3, 1][simulation.random.integer('how bad', 3)]!
      const host = simulation.host(name)
      if (!host.up) {
        host.restart()
        world.candidate(name)
      } else if (simulation.random.fraction('crash') < 0.2) {
        host.crash()
        world.crashed(name)
      }
      host.jumpClock(simulation.random.integer('jump', 60_000) - 30_000)
      await simulation.advance(simulation.random.integer('pause', 30_000))
    }
    for (const name of names) {
      world.faultsOf(name).chance = 0
      if (simulation.host(name).up) continue
      simulation.host(name).restart()
      world.candidate(name)
    }
    await simulation.advance(60_000)
    world.check(`seed ${seed}`)
    const leading = world.terms.filter(({ untilMs }) => untilMs === undefined)
    assert.equal(leading.length, 1, `seed ${seed}: in the end one leads`)
    terms += world.terms.length
  }
  assert.ok(terms > 45, `the lead changed hands ${terms} times: too little happened`)
})

interface Term {
  readonly name: string
  readonly fromMs: number
  untilMs?: number
}

/** Candidates on separate hosts, a server, and a record of leadership periods. */
class World {
  readonly simulation: Simulation
  readonly terms: Term[] = []
  readonly #server: SmallServer
  readonly #faults = new Map<string, FaultOptions>()

  constructor(seed: number) {
    this.simulation = new Simulation({ seed })
    this.#server = new SmallServer({ clock: this.simulation.clock })
  }

  faultsOf(name: string): FaultOptions {
    const { clock, random } = this.simulation
    const known = this.#faults.get(name)
    const faults: FaultOptions = known ?? { clock, random, requestFaults, streamFaults: [], chance: 0 }
    this.#faults.set(name, faults)
    return faults
  }

  client(name: string): Client {
    const handle = faultyTransport(this.#server.handle, this.faultsOf(name))
    const transport = inProcessTransport({ handle, user: { username: name, groups: [] } })
    return clientOf({ platform: this.simulation.host(name), transport, userAgent: 'test' })
  }

  options(name: string) {
    return { client: this.client(name), platform: this.simulation.host(name), lease }
  }

  candidate(name: string) {
    const host = this.simulation.host(name)
    const identity = newIdentity(host, name)
    const stop = new AbortController()
    const onStartedLeading = async (signal: AbortSignal): Promise<void> => {
      const term: Term = { name, fromMs: this.simulation.nowMs }
      this.terms.push(term)
      await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
      term.untilMs ??= this.simulation.nowMs
    }
    const registry = new MetricsRegistry()
    const metrics = new LeaderElectionMetrics(registry)
    const election = new LeaderElector({ ...this.options(name), identity, onStartedLeading, metrics })
    const run = election.run(AbortSignal.any([stop.signal, host.signal]))
    run.catch(error => assert.fail(String(error)))
    return { election, identity, stop, run, metrics: registry }
  }

  crashed(name: string): void {
    for (const term of this.terms) if (term.name === name) term.untilMs ??= this.simulation.nowMs
  }

  check(label = ''): void {
    this.terms.forEach((term, index) => {
      const next = this.terms[index + 1]
      if (next === undefined) return
      assert.ok(
        term.untilMs !== undefined && term.untilMs <= next.fromMs,
        `${label}: ${term.name} and ${next.name} at once`,
      )
    })
  }
}

const requestFaults = ['refuse', 'unavailable', 'busy', 'lose-answer', 'stall', 'delay'] as const
