/**
 * Consensus of the members, as far as clients see it: a leader while a majority of the members is connected, requests
 * that hang, fail or are lost while there is none, and requests in flight during a change whose outcome is unknown.
 * The log itself is `ReplicatedState`, one for all members.
 */
import type { Clock, Random } from '#/platform/platform.ts'
import { etcdError } from './etcd-errors.ts'
import { ReplicatedState } from './replicated-state.ts'

/** A member, as the others see it. */
export interface Voter {
  readonly name: string
  /** Its process runs, and the other members reach it. */
  readonly isConnected: boolean
  /** Changes with each start of its process. */
  readonly life: number
  /** Told after each change of the replicated state, and when the member is connected again. */
  follow(): void
  /** Ends the streams of clients that require a leader. */
  endStreams(): void
}

/** A request, which its client may have canceled. */
export interface Proposal {
  readonly requiresLeader: boolean
  readonly isClosedAtMember: boolean
}

export interface ConsensusOptions {
  readonly clock: Clock
  readonly random: Random
  readonly record: (text: string) => void
}

export class Consensus {
  readonly state = new ReplicatedState()
  readonly #options: ConsensusOptions
  readonly #voters: Voter[] = []
  #leader: Voter | undefined
  /** Incremented when a leader is lost. */
  #term = 0
  #isElecting = false
  /** Since when a member has no leader. */
  readonly #leaderlessMs = new Map<Voter, number>()
  #wakes: (() => void)[] = []
  readonly #commitListeners = new Set<() => void>()

  constructor(options: ConsensusOptions) {
    this.#options = options
  }

  join(voter: Voter): void {
    this.#voters.push(voter)
    this.#leader ??= voter
  }

  get leaderName(): string | undefined {
    return this.#leader?.name
  }

  onCommit(listener: () => void): () => void {
    this.#commitListeners.add(listener)
    return () => void this.#commitListeners.delete(listener)
  }

  /** Called after each change of a member. */
  update(): void {
    const leader = this.#leader
    if (leader && (!leader.isConnected || !this.#hasQuorum)) this.#loseLeader()
    if (this.#leader === undefined && this.#hasQuorum) void this.#elect()
    for (const voter of this.#voters) this.#noteLeader(voter)
    this.#wake()
  }

  /** The leader steps down, and another election follows. */
  changeLeader(): void {
    if (this.#leader) this.#loseLeader()
    this.update()
  }

  /**
   * Executes a request on the replicated state. Fails with etcd's errors, after which it may have been executed, and
   * hangs for ever if it was lost with its member.
   */
  async propose<T>(voter: Voter, proposal: Proposal, execute: () => T): Promise<T> {
    const { random } = this.#options
    const hadToWait = await this.#leaderOf(voter, proposal)
    if (hadToWait && random.integer('etcd proposal lost', 2) === 0) {
      await this.#sleep('etcd proposal timeout', requestTimeoutMs)
      throw etcdError('timed out, connection lost')
    }
    const [term, life] = [this.#term, voter.life]
    await this.#sleep('etcd commit', commitMsMax)
    // The handler may or may not have noticed that its client is gone.
    if (proposal.isClosedAtMember && random.integer('etcd canceled proposal', 2) === 0) return never()
    const isUndisturbed = term === this.#term && life === voter.life && this.#isServing(voter)
    if (isUndisturbed) return this.#commit(execute)
    // The old leader may have replicated the request before it was lost.
    if (random.integer('etcd disturbed proposal', 2) === 0) this.#commit(execute)
    await this.#sleep('etcd disturbed response', 2_000)
    throw etcdError(
      random.integer('etcd disturbed error', 2) === 0 ? 'leader changed' : 'timed out, leader failed',
    )
  }

  /** Resolves to a revision that contains every request executed before the call. */
  async readIndex(voter: Voter, proposal: Proposal): Promise<number> {
    for (;;) {
      await this.#leaderOf(voter, proposal)
      const term = this.#term
      await this.#sleep('etcd read index', readIndexMsMax)
      if (term === this.#term && this.#isServing(voter)) return this.state.view.revision
      if (this.#options.random.integer('etcd disturbed read', 2) === 0) throw etcdError('leader changed')
    }
  }

  /** Executes a request of the leader itself, if there is one. */
  proposeAsLeader(execute: () => void): void {
    if (this.#leader) this.#commit(execute)
  }

  get #hasQuorum(): boolean {
    return this.#voters.filter(({ isConnected }) => isConnected).length * 2 > this.#voters.length
  }

  #isServing(voter: Voter): boolean {
    return this.#leader !== undefined && voter.isConnected
  }

  #commit<T>(execute: () => T): T {
    const result = execute()
    for (const voter of this.#voters) voter.follow()
    for (const listener of this.#commitListeners) listener()
    return result
  }

  #loseLeader(): void {
    this.#options.record(`etcd loses its leader ${this.#leader?.name}`)
    this.#leader = undefined
    this.#term++
  }

  async #elect(): Promise<void> {
    if (this.#isElecting) return
    this.#isElecting = true
    const { random, clock, record } = this.#options
    await clock.sleep(electionMs.min + random.integer('etcd election', electionMs.max - electionMs.min))
    this.#isElecting = false
    const candidates = this.#voters.filter(({ isConnected }) => isConnected)
    if (!this.#hasQuorum) return
    this.#leader = candidates[random.integer('etcd leader', candidates.length)]
    record(`etcd elects ${this.#leader?.name}`)
    this.state.renewLeases(clock.monotonicMs())
    this.update()
  }

  /** Resolves when the member has a leader: to true if it had none before. */
  async #leaderOf(voter: Voter, { requiresLeader }: Proposal): Promise<boolean> {
    const { clock } = this.#options
    const startMs = clock.monotonicMs()
    for (let hadToWait = false; ; hadToWait = true) {
      if (this.#isServing(voter)) return hadToWait
      const nowMs = clock.monotonicMs()
      const sinceMs = this.#leaderlessMs.get(voter) ?? nowMs
      // Until its election timeout has passed, a member relies on a leader that it has lost.
      if (requiresLeader && nowMs - sinceMs >= electionMs.min) throw etcdError('no leader')
      if (nowMs - startMs >= requestTimeoutMs) throw etcdError('timed out')
      await this.#change(startMs + requestTimeoutMs - nowMs)
    }
  }

  #noteLeader(voter: Voter): void {
    const { clock } = this.#options
    if (this.#isServing(voter)) {
      if (this.#leaderlessMs.delete(voter)) voter.follow()
      return
    }
    if (this.#leaderlessMs.has(voter)) return
    const sinceMs = clock.monotonicMs()
    this.#leaderlessMs.set(voter, sinceMs)
    clock.setTimer(streamsWithoutLeaderMs, () => {
      if (this.#leaderlessMs.get(voter) === sinceMs) voter.endStreams()
    })
  }

  async #change(withinMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wakes.push(resolve)
    const timer = this.#options.clock.setTimer(withinMs, resolve)
    await promise
    timer.cancel()
  }

  #wake(): void {
    const wakes = this.#wakes
    this.#wakes = []
    for (const wake of wakes) wake()
  }

  #sleep(label: string, mostMs: number): Promise<void> {
    const { clock, random } = this.#options
    return clock.sleep(random.fraction(label) * mostMs)
  }
}

/** Defaults of etcd: the election timeout is one second, and a request fails after five seconds and two of those. */
const electionMs = { min: 1_000, max: 2_000 }
const requestTimeoutMs = 7_000

/** A member ends streams after three election timeouts without a leader. */
const streamsWithoutLeaderMs = 3_500

const commitMsMax = 3
const readIndexMsMax = 1

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}
