/**
 * The operator in a cluster with a simulated etcd, from a seed: scaling, lost pods, hanging members, slow
 * answers and restarts of the operator, in random order. At the end, the cluster must have the wanted size.
 */
import { readFile } from 'node:fs/promises'
import { isTrue } from 'k8ts/api/conditions'
import { persistentVolumeClaims, persistentVolumes, pods, type Pod } from 'k8ts/api/core/v1'
import type { Stored } from 'k8ts/api/metadata'
import { runOperator } from 'k8ts/controller/operator'
import { Cluster, type RunningProgram } from 'k8ts/testing'
import { etcdOperator } from '../etcd-controller.ts'
import { etcdClusters } from '../etcd-cluster.ts'
import { isMemberPod } from '../member-pod.ts'
import { planEtcdCluster } from '../plan-etcd-cluster.ts'
import { SimulatedEtcd } from './simulated-etcd.ts'

export interface EtcdVerdict {
  readonly violations: readonly string[]
  /** The steps, one line each. */
  readonly trace: readonly string[]
}

const definition = await readFile(new URL('../manifests/crd.yaml', import.meta.url), 'utf8')

export const at = { namespace: 'default', name: 'db' }

/** Uses the volume of `createVolume`. */
export const backup = { claimName: 'backups', intervalSeconds: 60, retained: 2 }

const nodeNames = ['node-1', 'node-2', 'node-3']

const steps = 8

/** Virtual time within which the cluster must have the wanted size after the last fault. */
const settleSecondsMax = 1_800

export async function simulateEtcdOperator(seed: number, plan = planEtcdCluster): Promise<EtcdVerdict> {
  await using world = await EtcdWorld.start(seed, plan)
  const hasBackups = world.pick([true, false, false, false])
  if (hasBackups) await world.createVolume()
  await world.createCluster(world.pick([1, 3, 5]), hasBackups ? { backup } : {})
  for (let step = 0; step < steps; step++) {
    await world.advance(1 + world.pick([0, 1, 5, 20, 60]))
    await world.disturb()
  }
  world.healAll()
  await world.untilSettled(settleSecondsMax)
  if (hasBackups) await world.checkBackups()
  return { violations: world.violations, trace: world.trace }
}

/** A test cluster with the operator and a simulated etcd. */
export class EtcdWorld implements AsyncDisposable {
  readonly cluster: Cluster
  readonly trace: string[] = []
  etcd: SimulatedEtcd
  readonly #plan: typeof planEtcdCluster
  readonly #violations: string[] = []
  /** When a fault ends, and how. */
  readonly #faults: { readonly endMs: number; readonly end: () => void }[] = []
  #operator: RunningProgram
  #simulated: RunningProgram
  #size = 0
  #stoppedNode: string | undefined

  private constructor(cluster: Cluster, plan: typeof planEtcdCluster) {
    this.cluster = cluster
    this.#plan = plan
    this.etcd = new SimulatedEtcd(cluster.platform)
    this.#simulated = cluster.run(context => this.etcd.run(context))
    this.#operator = this.#startOperator()
  }

  static async start(seed: number, plan = planEtcdCluster): Promise<EtcdWorld> {
    const cluster = await Cluster.start({ nodes: nodeNames.map(name => ({ name })), seed })
    await cluster.apply(definition)
    await cluster.settle()
    return new EtcdWorld(cluster, plan)
  }

  get violations(): readonly string[] {
    return [...this.#violations, ...this.etcd.violations]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster.stop()
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.cluster.platform.random.integer('choice of the simulation', choices.length)]!
  }

  async createCluster(size: number, more: object = {}): Promise<void> {
    this.#say(`create size ${size}`)
    this.#size = size
    const spec = { size, image: 'etcd', memberTimeoutSeconds: 60, ...more }
    await this.cluster.client.create(etcdClusters, { metadata: at, spec })
  }

  /** Of the claim `backups`. */
  async createVolume(): Promise<void> {
    const { client } = this.cluster
    const common = { accessModes: ['ReadWriteOnce'], storageClassName: 'manual' }
    await client.create(persistentVolumes, {
      metadata: { name: backup.claimName },
      spec: { ...common, capacity: { storage: '1Gi' }, hostPath: { path: '/backups' } },
    })
    await client.create(persistentVolumeClaims, {
      metadata: { namespace: 'default', name: backup.claimName },
      spec: { ...common, resources: { requests: { storage: '1Gi' } } },
    })
  }

  /** The newest snapshot is at most two intervals old, and no more than wanted are kept. */
  async checkBackups(): Promise<void> {
    const { length } = this.etcd
    await this.advance(2 * backup.intervalSeconds)
    const { snapshots } = this.etcd
    if (Math.max(...snapshots.values()) < length) this.#violations.push('the last backup is too old')
    if (snapshots.size > backup.retained) this.#violations.push('too many backups are kept')
  }

  /** Another etcd cluster, which knows the snapshots of the one before. */
  async replaceEtcd(): Promise<void> {
    await this.#simulated.stop()
    const next = new SimulatedEtcd(this.cluster.platform)
    for (const [file, length] of this.etcd.snapshots) next.snapshots.set(file, length)
    this.#violations.push(...this.etcd.violations)
    this.etcd = next
    this.#simulated = this.cluster.run(context => next.run(context))
    await this.restartOperator()
  }

  async restartOperator(): Promise<void> {
    this.#say('restart the operator')
    await this.#operator.stop()
    this.#operator = this.#startOperator()
  }

  async disturb(): Promise<void> {
    const { etcd } = this
    const disturbances = [
      () => this.#scale(this.pick([1, 3, 5])),
      () => this.#killPod(),
      () => this.#killPod(),
      () => this.#hangMember(this.pick([10, 50, 200])),
      () => this.#stopNode(this.pick([20, 400])),
      () => this.restartOperator(),
      async () => void (etcd.slowness = this.pick([0, 0.2, 0.6])),
    ]
    await this.pick(disturbances)()
  }

  healAll(): void {
    this.etcd.slowness = 0
    for (const { end } of this.#faults.splice(0)) end()
  }

  async memberPods(): Promise<readonly Stored<Pod>[]> {
    return (await this.cluster.client.list(pods)).items.filter(isMemberPod)
  }

  /** Advances the time, and ends faults. */
  async advance(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.cluster.clock.advance(1_000)
      const due = this.#faults.filter(({ endMs }) => endMs <= this.cluster.clock.now())
      for (const fault of due) {
        this.#faults.splice(this.#faults.indexOf(fault), 1)
        fault.end()
      }
    }
  }

  async untilSettled(secondsMax: number): Promise<void> {
    const pollSeconds = 10
    let problem: string | undefined
    for (let passed = 0; passed < secondsMax; passed += pollSeconds) {
      await this.advance(pollSeconds)
      problem = await this.#unsettledReason()
      if (problem === undefined) return
    }
    this.#violations.push(`not settled: ${problem}`)
  }

  async #unsettledReason(): Promise<string | undefined> {
    const { status } = await this.cluster.client.get(etcdClusters, at)
    const { voters, hasQuorum } = this.etcd
    const running = await this.memberPods()
    const counts = [
      voters.length,
      running.length,
      status?.size,
      status?.readyMembers,
      status?.members?.length,
    ]
    if (counts.some(count => count !== this.#size)) return `size ${this.#size}, but ${counts.join(', ')}`
    return hasQuorum && isTrue(status?.conditions, 'Available') ? undefined : 'not available'
  }

  #startOperator(): RunningProgram {
    const operator = { ...etcdOperator(this.etcd, this.#plan), leaderElection: 'none' } as const
    return this.cluster.run(context => runOperator(operator, context))
  }

  async #scale(size: number): Promise<void> {
    this.#say(`scale to ${size}`)
    this.#size = size
    await this.cluster.client.patch(etcdClusters, at, { type: 'merge', patch: { spec: { size } } })
  }

  /** Only as many as etcd tolerates: otherwise the data is lost, whatever an operator does. */
  async #killPod(): Promise<void> {
    const victims = (await this.memberPods()).filter(({ metadata }) =>
      this.etcd.survivesWithout([metadata.uid]),
    )
    if (victims.length === 0) return
    const { metadata } = this.pick(victims)
    this.#say(`kill ${metadata.name}`)
    await this.cluster.client.delete(pods, metadata, { gracePeriodSeconds: 0 })
  }

  async #hangMember(seconds: number): Promise<void> {
    const victims = (await this.memberPods()).filter(({ metadata }) =>
      this.etcd.survivesWithout([metadata.uid]),
    )
    if (victims.length === 0) return
    const { uid, name } = this.pick(victims).metadata
    this.#say(`hang ${name} for ${seconds} s`)
    this.etcd.setHanging(uid, true)
    this.#endAfter(seconds, () => this.etcd.setHanging(uid, false))
  }

  /** As after a power failure: its pods do not answer, and are evicted after five minutes. */
  async #stopNode(seconds: number): Promise<void> {
    const name = this.pick(nodeNames)
    const onNode = (await this.memberPods()).filter(({ spec }) => spec?.nodeName === name)
    const uids = onNode.map(({ metadata }) => metadata.uid)
    if (this.#stoppedNode !== undefined || !this.etcd.survivesWithout(uids)) return
    this.#say(`stop ${name} for ${seconds} s`)
    this.#stoppedNode = name
    for (const uid of uids) this.etcd.setHanging(uid, true)
    await this.cluster.stopNode(name)
    this.#endAfter(seconds, () => {
      this.#stoppedNode = undefined
      for (const uid of uids) this.etcd.setHanging(uid, false)
      this.cluster.startNode({ name })
    })
  }

  #endAfter(seconds: number, end: () => void): void {
    this.#faults.push({ endMs: this.cluster.clock.now() + seconds * 1_000, end })
  }

  #say(what: string): void {
    const { voters, acknowledged } = this.etcd
    const seconds = Math.round(this.cluster.clock.now() / 1_000) % 100_000
    this.trace.push(`${seconds} s, ${voters.length} voters, ${acknowledged} writes: ${what}`)
  }
}
