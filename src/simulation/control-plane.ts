/**
 * Simulates a whole control plane from a seed: an API server that crashes and restarts on its embedded store, or two
 * on an etcd cluster whose members and connections fail, two controller managers with leader election, a scheduler,
 * failing nodes and random users, connected by a network that loses, delays and repeats messages and cuts
 * connections. Checkers examine every store revision, the controllers' decisions, and the settled state at the end.
 */
import { isApiError } from '#/api/errors.ts'
import { keyOf, type KubernetesObject } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { TransportError } from '#/client/transport.ts'
import type { Controller } from '#/controllers/controller.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import { Simulation } from '#/platform/simulated.ts'
import { checkSettledState } from './control-plane/settled-state.ts'
import { Invariants } from './control-plane/invariants.ts'
import { SimulatedCluster } from './control-plane/simulated-cluster.ts'
import { FaultSchedule } from './control-plane/fault-schedule.ts'
import { RecordedWrites } from './control-plane/recorded-writes.ts'
import { Users } from './control-plane/users.ts'

export interface ControlPlaneVerdict {
  /** Deterministic: the same for the same seed on every machine. */
  readonly traceHash: string
  readonly violations: readonly string[]
  /** The last trace lines. */
  readonly trace: readonly string[]
  /** Number of store revisions. */
  readonly revisions: number
  /** What the last change of `KIND/NAMESPACE/NAME` caused, as by `k8ts trace`; undefined if it was never written. */
  readonly traceOf: (object: string) => string | undefined
}

export interface ControlPlaneOptions {
  readonly controllers: readonly Controller[]
  /** The container runtime as the kubelets see it; a test may plant a bug here. */
  readonly seenRuntime?: (runtime: ContainerRuntime) => ContainerRuntime
}

/** Number of steps; each one is a user action or a fault. */
const userSteps = 28

/** Virtual time within which the cluster must settle after the last fault has ended. */
const settleMs = 1_800_000

/** The cluster is settled when nothing but leases and events was written for this time. */
const quietMs = 60_000

/** One in this many runs continues for the whole time, to check that the settled state is stable. */
const patientOneIn = 32

export async function simulateControlPlane(
  seed: number,
  options: ControlPlaneOptions,
): Promise<ControlPlaneVerdict> {
  const simulation = new Simulation({ seed })
  const violationsOfRequests: string[] = []
  const onViolation = (violation: string): void =>
    void violationsOfRequests.push(`at ${simulation.nowMs} ms: ${violation}`)
  const cluster = new SimulatedCluster({ ...options, simulation, onViolation })
  const faultSchedule = new FaultSchedule(simulation, cluster)
  faultSchedule.skewClocks()
  await simulation.run(cluster.start())
  const { uncertainWrites } = cluster
  const revision = async (): Promise<number> => (await cluster.store()).revision()
  // Its clock is right.
  const { clock } = simulation.host('checker')
  const recorded = new RecordedWrites(() => clock.now())
  const invariants = new Invariants({
    writes: signal => cluster.writes(signal),
    firstRevision: await simulation.run(revision()),
    uncertainWrites,
    onChange: (event, changed) => recorded.add(event, changed),
    nowMs: () => simulation.nowMs,
    record: text => simulation.record(text),
  })
  const watching = invariants.run(cluster.signal)
  await simulation.run(play(simulation, cluster, faultSchedule))
  const unsettled = await settle({ simulation, cluster, faultSchedule, invariants })
  const violations = [...invariants.violations, ...violationsOfRequests, ...unsettled]
  const revisions = await simulation.run(revision())
  cluster.stop()
  await simulation.advance(1_000)
  await watching
  const { trace } = simulation
  const traceOf = (object: string): string | undefined => recorded.traceOf(object)
  return { traceHash: simulation.traceHash(), violations, trace, revisions, traceOf }
}

async function play(
  simulation: Simulation,
  cluster: SimulatedCluster,
  faultSchedule: FaultSchedule,
): Promise<void> {
  const { clock, random } = simulation
  const users = new Users(cluster.userClient, random)
  for (let step = 0; step < userSteps; step++) {
    const isFault = random.integer('what happens', 5) < 2
    simulation.record(isFault ? faultSchedule.inject() : await users.act())
    await clock.sleep(random.integer('time between', 20_000))
  }
  cluster.stopFaults()
  while (!(await succeeds(users.uncordon()))) await clock.sleep(1_000)
}

/** Returns the violations that remain when the time is over. */
async function settle(options: SettleOptions): Promise<readonly string[]> {
  const { simulation, cluster, faultSchedule, invariants } = options
  const endMs = simulation.nowMs + settleMs
  const isPatient = simulation.random.integer('patient', patientOneIn) === 0
  for (;;) {
    await simulation.advance(quietMs / 2)
    const isLate = simulation.nowMs >= endMs
    const isQuiet = faultSchedule.isHealthy && simulation.nowMs - invariants.changedMs >= quietMs
    if (!isLate && (isPatient || !isQuiet)) continue
    const unsettled = [...cluster.busy(), ...(await simulation.run(check(cluster)))]
    if (unsettled.length === 0 || isLate) return unsettled
  }
}

interface SettleOptions {
  readonly simulation: Simulation
  readonly cluster: SimulatedCluster
  readonly faultSchedule: FaultSchedule
  readonly invariants: Invariants
}

async function check(cluster: SimulatedCluster): Promise<readonly string[]> {
  const { uncertainWrites } = cluster
  const nodes = cluster.nodes.all()
  const violations = await checkSettledState({ store: await cluster.store(), uncertainWrites, nodes })
  return violations.length > 0 ? violations : checkInformers(cluster.userClient, cluster.informers())
}

async function succeeds(promise: Promise<void>): Promise<boolean> {
  try {
    await promise
    return true
  } catch (error) {
    if (isApiError(error) || error instanceof TransportError) return false
    throw error
  }
}

/** Checks that the informers of the settled cluster have the same objects as the API server. */
async function checkInformers(
  client: Client,
  informers: ReadonlyMap<string, readonly Informer<KubernetesObject>[]>,
): Promise<readonly string[]> {
  const found: string[] = []
  for (const [who, copies] of informers) {
    for (const copy of copies) found.push(...(await checkInformer(client, who, copy)))
  }
  return found
}

async function checkInformer(
  client: Client,
  who: string,
  informer: Informer<KubernetesObject>,
): Promise<readonly string[]> {
  const { resource, selection } = informer
  const { items } = await client.listAll(resource, selection)
  const there = new Map(items.map(object => [keyOf(object), versionOf(object)]))
  const what = `informer of ${resource.plural} in ${who}`
  return [
    ...informer
      .list()
      .filter(object => !there.has(keyOf(object)))
      .map(object => `${what}: ${keyOf(object)} does not exist`),
    ...[...there]
      .filter(([key, version]) => versionOf(informer.get(key)) !== version)
      .map(([key, version]) => `${what}: ${key} does not have resourceVersion ${version}`),
  ]
}

function versionOf(object: KubernetesObject | undefined): string | undefined {
  return object?.metadata.resourceVersion
}
