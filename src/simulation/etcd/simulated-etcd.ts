/**
 * An etcd v3 cluster in a simulation: the requests that the etcd store sends, on members that crash, hang, lag, lose
 * their leader or the connection to a host. It is durable and linearizable; everything else is as unreliable as its
 * faults say. All draws come from the seed of the simulation.
 */
import { assert } from '#/base/assert.ts'
import { alarmCorrupt, alarmNoSpace } from '#/store/etcd-messages.ts'
import type { GrpcConnect } from '#/platform/grpc.ts'
import type { Timer } from '#/platform/platform.ts'
import type { SimulatedHost, Simulation } from '#/platform/simulated.ts'
import type { Entry, StoreEvent, WatchBatch } from '#/store/store.ts'
import { SimulatedChannel } from './channel.ts'
import { Consensus } from './consensus.ts'
import { noFaults, type EtcdFaults } from './etcd-faults.ts'
import type { Version } from './key-history.ts'
import { Link, type LinkFault } from './link.ts'
import { Member } from './member.ts'

export interface SimulatedEtcdOptions {
  readonly simulation: Simulation
  /** Number of members; 3 when absent. */
  readonly members?: number
  /** Responses of watches with more bytes are sent in fragments; etcd's limit when absent. */
  readonly fragmentBytes?: number
}

const alarms = { NOSPACE: alarmNoSpace, CORRUPT: alarmCorrupt } as const

export class SimulatedEtcd {
  /** Targets of `connect`, one per member. */
  readonly endpoints: readonly string[]
  readonly #simulation: Simulation
  readonly #consensus: Consensus
  readonly #members = new Map<string, Member>()
  readonly #links = new Map<string, Link>()
  #faults = noFaults
  #expiry: Timer | undefined

  constructor({ simulation, members = 3, fragmentBytes = fragmentBytesMax }: SimulatedEtcdOptions) {
    const { clock, random } = simulation
    this.#simulation = simulation
    const consensus = new Consensus({ clock, random, record: text => simulation.record(text) })
    this.#consensus = consensus
    for (let number = 1; number <= members; number++) {
      const member = new Member({
        name: `etcd-${number}`,
        consensus,
        clock,
        random,
        fragmentBytes,
        faults: () => this.#faults,
        onLease: () => this.#scheduleExpiry(),
      })
      this.#members.set(member.name, member)
      consensus.join(member)
    }
    this.endpoints = this.memberNames.map(name => `${name}:${clientPort}`)
  }

  get memberNames(): readonly string[] {
    return [...this.#members.keys()]
  }

  get leaderName(): string | undefined {
    return this.#consensus.leaderName
  }

  /** The revision of the last write. */
  get revision(): number {
    return this.#consensus.state.view.revision
  }

  /** Connections of the current life of a host. */
  connect(host: SimulatedHost): GrpcConnect {
    const { clock, signal } = host
    return options =>
      new SimulatedChannel({
        ...options,
        clock,
        life: signal,
        route: target => {
          const member = target.replace(/:\d+$/, '')
          return { server: this.#member(member), link: this.#link(host.name, member) }
        },
      })
  }

  get compactRevision(): number {
    return this.#consensus.state.view.compactRevision
  }

  /** The keys with a prefix at any revision, also a compacted one: for checkers. */
  entriesAt(prefix: string, revision: number): readonly Entry[] {
    const found: Entry[] = []
    for (const version of this.#consensus.state.history.range(prefix, undefined, revision)) {
      if (!version.key.startsWith(prefix)) break
      const event = storeEvent(version)
      if (event.type === 'put') found.push(entryOf(event))
    }
    return found
  }

  /** The events of any revision: for checkers. */
  eventsAt(revision: number): readonly StoreEvent[] {
    const versions = this.#consensus.state.history.changesOf(revision)
    const note = versions.find(({ key }) => key === noteKey)?.value
    const written = versions.filter(({ key }) => key !== noteKey).map(storeEvent)
    return note ? written.map(event => ({ ...event, note })) : written
  }

  /** All writes in their order, from the replicated log itself: for checkers. */
  async *watchAll(options: {
    afterRevision?: number
    signal: AbortSignal
  }): AsyncGenerator<WatchBatch, void, undefined> {
    const { signal } = options
    let changed = Promise.withResolvers<void>()
    const wake = (): void => changed.resolve()
    const stop = this.#consensus.onCommit(wake)
    signal.addEventListener('abort', wake)
    try {
      for (let revision = (options.afterRevision ?? 0) + 1; !signal.aborted; revision++) {
        while (revision > this.revision && !signal.aborted) {
          await changed.promise
          changed = Promise.withResolvers()
        }
        const events = this.eventsAt(revision)
        if (events.length > 0) yield { revision, events }
      }
    } finally {
      stop()
      signal.removeEventListener('abort', wake)
    }
  }

  /** Changes the random faults of all members from now on. */
  setFaults(faults: Partial<EtcdFaults>): void {
    this.#faults = { ...this.#faults, ...faults }
  }

  crash(member: string): void {
    this.#record(`${member} crashes`)
    this.#member(member).crash()
  }

  restart(member: string): void {
    this.#record(`${member} restarts`)
    this.#member(member).restart()
  }

  /** Separates a member from the others; clients still reach it. */
  isolate(member: string): void {
    this.#record(`${member} is isolated`)
    this.#member(member).setIsolated(true)
  }

  rejoin(member: string): void {
    this.#record(`${member} rejoins`)
    this.#member(member).setIsolated(false)
  }

  /** Stops the process of a member. */
  stop(member: string): void {
    this.#record(`${member} is stopped`)
    this.#member(member).stop()
  }

  goOn(member: string): void {
    this.#record(`${member} goes on`)
    this.#member(member).goOn()
  }

  /** The member applies changes this much later than the others. */
  setLag(member: string, lagMs: number): void {
    this.#record(`${member} lags by ${lagMs} ms`)
    this.#member(member).setLag(lagMs)
  }

  changeLeader(): void {
    this.#consensus.changeLeader()
  }

  /** Disconnects a host from one member, or from all. */
  disconnect(host: string, fault: LinkFault, members = this.memberNames): void {
    this.#record(`${host} is disconnected from ${members.join(', ')}: ${fault}`)
    for (const member of members) {
      const link = this.#link(host, member)
      link.setFault(fault)
      if (fault === 'refused') this.#member(member).resetConnections(link)
    }
  }

  reconnect(host: string, members = this.memberNames): void {
    this.#record(`${host} is connected to ${members.join(', ')}`)
    for (const member of members) this.#link(host, member).setFault(undefined)
  }

  /** Resets all connections of a host. */
  cut(host: string): void {
    for (const [name, member] of this.#members) member.resetConnections(this.#link(host, name))
  }

  raiseAlarm(alarm: keyof typeof alarms): void {
    this.#record(`alarm ${alarm} is raised`)
    this.#consensus.state.alarms.add(alarms[alarm])
  }

  disarm(alarm: keyof typeof alarms): void {
    this.#record(`alarm ${alarm} is disarmed`)
    this.#consensus.state.alarms.delete(alarms[alarm])
  }

  #scheduleExpiry(): void {
    const { clock } = this.#simulation
    const { state } = this.#consensus
    this.#expiry?.cancel()
    this.#expiry = undefined
    const { nextExpiryMs } = state
    if (nextExpiryMs === undefined) return
    this.#expiry = clock.setTimer(Math.max(expiryCheckMs, nextExpiryMs - clock.monotonicMs()), () => {
      this.#consensus.proposeAsLeader(() => state.expireLeases(clock.monotonicMs()))
      this.#scheduleExpiry()
    })
  }

  #member(name: string): Member {
    const member = this.#members.get(name)
    assert(member, `etcd has no member ${name}`)
    return member
  }

  #link(host: string, member: string): Link {
    const { clock, random } = this.#simulation
    const name = `${host}-${member}`
    return this.#links.getOrInsertComputed(name, () => new Link({ clock, random, name }))
  }

  #record(text: string): void {
    this.#simulation.record(text)
  }
}

const clientPort = 2379

/** etcd sends fragments when a response exceeds its maximum size of requests. */
const fragmentBytesMax = 1.5 * 1_024 * 1_024

/** Time between two looks of the leader for expired leases. */
const expiryCheckMs = 500

/** The key of the notes of an etcd store without a prefix. */
const noteKey = 'k8ts/note'

function storeEvent({ key, value, modRevision: revision, createRevision }: Version): StoreEvent {
  const text = Buffer.from(key, 'latin1').toString()
  if (value === undefined) return { type: 'delete', key: text, revision }
  return { type: 'put', key: text, revision, createRevision, value }
}

function entryOf({ key, value, revision, createRevision }: Entry): Entry {
  return { key, value, revision, createRevision }
}
