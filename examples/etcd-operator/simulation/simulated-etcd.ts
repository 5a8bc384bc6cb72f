/**
 * An etcd cluster in memory for simulations: a process for each pod, a replicated log, quorum, learners,
 * hanging members and slow answers. The log contains committed entries only; each process has a prefix of it.
 * A pod takes its data with it. Violations of what etcd requires of an operator are recorded.
 */
import { pods, type Pod } from 'k8ts/api/core/v1'
import type { Stored } from 'k8ts/api/metadata'
import { Informers } from 'k8ts/client/informers'
import type { Platform } from 'k8ts/platform'
import type { ProgramContext } from 'k8ts/testing'
import { EtcdError, type EtcdCall, type EtcdClient, type EtcdMember } from '../etcd-client.ts'
import { backupFileOf, endpointOf, isMemberPod, nameOf } from '../member-pod.ts'
import { quorumOf } from '../plan-etcd-cluster.ts'

interface Process {
  readonly name: string
  readonly endpoint: string
  /** Length of its part of the log. */
  length: number
  isHanging: boolean
}

/** Interval of replication and of client writes. */
const tickMs = 500

/** Probability that a member does not receive the entries of a tick. */
const lagProbability = 0.3

export class SimulatedEtcd implements EtcdClient {
  readonly violations: string[] = []
  /** Snapshots by file: the number of entries. */
  readonly snapshots = new Map<string, number>()
  /** Probability that an answer takes longer than the timeout of the operator. */
  slowness = 0
  readonly #platform: Platform
  /** By uid of the pod. */
  readonly #processes = new Map<string, Process>()
  /** Names with which a process has started: each may start with an empty data folder once. */
  readonly #started = new Set<string>()
  /** Uids of backup pods that have not ended. */
  readonly #backups = new Set<string>()
  #members: readonly EtcdMember[] = []
  #length = 0
  #acknowledged = 0
  #nextId = 1
  #changesInFlight = 0

  constructor(platform: Platform) {
    this.#platform = platform
  }

  get voters(): readonly EtcdMember[] {
    return this.#members.filter(member => !member.isLearner)
  }

  /** Number of writes that clients believe to be stored. */
  get acknowledged(): number {
    return this.#acknowledged
  }

  /** Number of entries that a quorum of the members has. */
  get length(): number {
    return this.#length
  }

  get hasQuorum(): boolean {
    return this.#upVoters().length >= quorumOf(this.voters.length) && this.voters.length > 0
  }

  /**
   * True if the members keep a quorum without the processes of these pods. A learner in sync counts as a voter: the
   * operator may have seen it answer, and be about to promote it.
   */
  survivesWithout(uids: readonly string[]): boolean {
    const lost = new Set(uids.map(uid => this.#processes.get(uid)?.name))
    const electorate = this.#members.map(nameOf).filter((name, index) => {
      return !this.#members[index]?.isLearner || this.#processOf(name)?.length === this.#length
    })
    const isUp = (name: string): boolean => this.#processOf(name)?.isHanging === false && !lost.has(name)
    const left = this.#upVoters().filter(({ name }) => !lost.has(name))
    return (
      left.length >= quorumOf(this.voters.length) &&
      electorate.filter(isUp).length >= quorumOf(electorate.length)
    )
  }

  setHanging(uid: string, isHanging: boolean): void {
    const process = this.#processes.get(uid)
    if (process !== undefined) process.isHanging = isHanging
  }

  /** Follows the pods and the clients' writes; a program of a test cluster. */
  async run({ client, platform, signal }: ProgramContext): Promise<void> {
    const informers = new Informers({ client, platform })
    informers.of(pods).addEventHandler((_key, { oldObject, newObject }) => {
      this.#followPod(newObject ?? oldObject, newObject === undefined)
    })
    const running = informers.run(signal)
    while (!signal.aborted) {
      await platform.clock.sleep(tickMs, signal).catch(() => undefined)
      this.#tick()
    }
    await running
  }

  async members(call: EtcdCall): Promise<readonly EtcdMember[]> {
    return this.#answer(call, () => this.#members)
  }

  async addLearner(call: EtcdCall, peerUrl: string): Promise<readonly EtcdMember[]> {
    return this.#change(call, () => {
      if (this.#members.length > this.voters.length)
        throw new EtcdError('etcdserver: too many learner members')
      const id = String(this.#nextId++)
      return [...this.#members, { id, peerUrl, isLearner: true }]
    })
  }

  async promote(call: EtcdCall, id: string): Promise<void> {
    await this.#change(call, () => {
      const member = this.#memberOf(id)
      const process = this.#processOf(nameOf(member))
      if (process === undefined || process.length < this.#length) {
        throw new EtcdError('can only promote a learner member which is in sync with leader')
      }
      return this.#members.map(each => (each.id === id ? { ...each, isLearner: false } : each))
    })
  }

  async remove(call: EtcdCall, id: string): Promise<void> {
    await this.#change(call, () => {
      const member = this.#memberOf(id)
      return this.#members.filter(each => each.id !== member.id)
    })
  }

  #memberOf(id: string): EtcdMember {
    const member = this.#members.find(each => each.id === id)
    if (member === undefined) throw new EtcdError('etcdserver: member not found')
    return member
  }

  /** Rejects with the reason of the signal if the member, or a quorum, does not answer. */
  async #answer<T>({ endpoint, signal }: EtcdCall, answer: () => T): Promise<T> {
    const { clock, random } = this.#platform
    const isSlow = random.fraction('slow answer') < this.slowness
    const isAppliedFirst = random.fraction('order of an answer') < 0.5
    const latencyMs =
      random.integer('latency', 100) + (isSlow ? 4_000 + random.integer('slowness', 4_000) : 0)
    if (!isAppliedFirst) await clock.sleep(latencyMs, signal)
    const process = [...this.#processes.values()].find(each => each.endpoint === endpoint)
    const member = this.#members.find(each => nameOf(each) === process?.name)
    if (process === undefined || process.isHanging || member === undefined) return forever(signal)
    if (member.isLearner) throw new EtcdError('etcdserver: rpc not supported for learner')
    if (!this.hasQuorum) return forever(signal)
    const result = answer()
    if (isAppliedFirst) await clock.sleep(latencyMs, signal)
    return result
  }

  async #change(call: EtcdCall, change: () => readonly EtcdMember[]): Promise<readonly EtcdMember[]> {
    if (++this.#changesInFlight > 1) this.violations.push('two membership changes at once')
    try {
      return await this.#answer(call, () => {
        const members = change()
        this.#commit()
        this.#members = members
        if (!this.hasQuorum) this.violations.push('a membership change has cost the quorum')
        return members
      })
    } finally {
      this.#changesInFlight--
    }
  }

  /** Appends an entry, which is on a quorum of the voters then. Requires a quorum. */
  #commit(): void {
    const { random } = this.#platform
    const up = this.#upVoters()
    if (Math.max(...up.map(({ length }) => length)) < this.#length) {
      this.violations.push('committed entries are lost')
    }
    this.#length++
    const offset = random.integer('quorum of a commit', up.length)
    for (let index = 0; index < quorumOf(this.voters.length); index++) {
      up[(offset + index) % up.length]!.length = this.#length
    }
  }

  #tick(): void {
    const { random } = this.#platform
    if (!this.hasQuorum) return
    this.#commit()
    this.#acknowledged++
    for (const process of this.#processes.values()) {
      const isMember = this.#members.some(member => nameOf(member) === process.name)
      const isLagging = process.isHanging || random.fraction('lag of a member') < lagProbability
      if (isMember && !isLagging) process.length = this.#length
    }
  }

  #followPod(pod: Stored<Pod>, isDeleted: boolean): void {
    const { uid } = pod.metadata
    const phase = pod.status?.phase
    const isEnded = isDeleted || phase === 'Failed' || phase === 'Succeeded'
    if (!isMemberPod(pod)) {
      if (isEnded) this.#backups.delete(uid)
      else this.#backups.add(uid)
      if (this.#backups.size > 1) this.violations.push('two backups at once')
      if (phase === 'Succeeded' && !isDeleted) this.#takeSnapshot(pod)
      return
    }
    if (isEnded) this.#processes.delete(uid)
    else if (phase === 'Running' && endpointOf(pod) !== undefined && !this.#processes.has(uid))
      this.#start(pod)
  }

  #start(pod: Stored<Pod>): void {
    const { name, uid } = pod.metadata
    const process: Process = { name, endpoint: endpointOf(pod)!, length: 0, isHanging: false }
    const isSeed = pod.spec?.containers[0]?.command?.includes('--initial-cluster-state=new') === true
    if (isSeed) this.#bootstrap(pod, process)
    else if (this.#started.has(name)) this.violations.push(`${name} was started again without its data`)
    this.#started.add(name)
    this.#processes.set(uid, process)
  }

  #bootstrap(pod: Stored<Pod>, seed: Process): void {
    const command = pod.spec?.containers[0]?.command ?? []
    const flag = '--initial-advertise-peer-urls='
    const peerUrl = command.find(each => each.startsWith(flag))?.slice(flag.length) ?? ''
    if (this.#acknowledged > 0) this.violations.push('a second cluster was bootstrapped over existing data')
    const restored = pod.spec?.initContainers?.[0]?.command?.[3]?.replace('/backup/', '')
    this.#length = this.snapshots.get(restored ?? '') ?? 0
    seed.length = this.#length
    this.#members = [{ id: String(this.#nextId++), peerUrl, isLearner: false }]
  }

  #takeSnapshot(pod: Pod): void {
    this.snapshots.set(backupFileOf(pod), this.#length)
  }

  #processOf(name: string): Process | undefined {
    return [...this.#processes.values()].find(process => process.name === name)
  }

  #upVoters(): readonly Process[] {
    const names = new Set(this.voters.map(nameOf))
    return [...this.#processes.values()].filter(({ name, isHanging }) => names.has(name) && !isHanging)
  }
}

function forever(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
  })
}
