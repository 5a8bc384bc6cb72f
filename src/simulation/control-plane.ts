/**
 * Simulates a whole control plane from a seed: an API server that crashes and restarts on its store, two
 * controller managers with leader election, a scheduler, failing nodes and random users, connected by a
 * network that loses, delays and repeats messages and cuts connections. Checkers examine every store
 * revision, the controllers' decisions, and the settled state at the end.
 */
import { isApiError } from '#/api/errors.ts'
import { TransportError } from '#/client/transport.ts'
import type { Controller } from '#/controllers/controller.ts'
import { Simulation } from '#/platform/simulated.ts'
import { checkAtRest } from './control-plane/at-rest.ts'
import { checkInformers } from './control-plane/informers-at-rest.ts'
import { Invariants } from './control-plane/invariants.ts'
import { Parts } from './control-plane/parts.ts'
import { Trouble } from './control-plane/trouble.ts'
import { Users } from './control-plane/users.ts'

export interface ControlPlaneVerdict {
  /** Deterministic: the same for the same seed on every machine. */
  readonly traceHash: string
  readonly violations: readonly string[]
  /** The last trace lines. */
  readonly trace: readonly string[]
  /** Number of store revisions. */
  readonly revisions: number
}

export interface ControlPlaneOptions {
  readonly controllers: readonly Controller[]
}

/** Number of steps; each one is a user action or a fault. */
const userSteps = 25

/** Virtual time within which the cluster must settle after the last fault has ended. */
const restMs = 1_800_000

/** The cluster is settled when nothing but leases and events was written for this time. */
const quietMs = 60_000

/** One in this many runs continues for the whole time, to check that the settled state is stable. */
const patientOneIn = 32

export async function simulateControlPlane(
  seed: number,
  { controllers }: ControlPlaneOptions,
): Promise<ControlPlaneVerdict> {
  const simulation = new Simulation({ seed })
  const wrong: string[] = []
  const onWrong = (violation: string): void => void wrong.push(`at ${simulation.nowMs} ms: ${violation}`)
  const parts = new Parts({ simulation, controllers, onWrong })
  await simulation.run(parts.start())
  const { store, doubts } = parts
  const invariants = new Invariants({
    store,
    doubts,
    nowMs: () => simulation.nowMs,
    record: text => simulation.record(text),
  })
  const watching = invariants.run(parts.signal)
  const trouble = new Trouble(simulation, parts)
  await simulation.run(play(simulation, parts, trouble))
  const unrest = await rest({ simulation, parts, trouble, invariants })
  const violations = [...invariants.violations, ...wrong, ...unrest]
  const revisions = await simulation.run(store.revision())
  parts.stop()
  await simulation.advance(1_000)
  await watching
  return { traceHash: simulation.traceHash(), violations, trace: simulation.trace, revisions }
}

async function play(simulation: Simulation, parts: Parts, trouble: Trouble): Promise<void> {
  const { clock, random } = simulation
  const users = new Users(parts.userClient, random)
  for (let step = 0; step < userSteps; step++) {
    const act = random.integer('what happens', 3)
    simulation.record(act < 2 ? await users.act() : trouble.make())
    await clock.sleep(random.integer('time between', 20_000))
  }
  parts.calmDown()
  while (!(await succeeds(users.uncordon()))) await clock.sleep(1_000)
}

/** Returns the violations that remain when the time is over. */
async function rest(resting: Resting): Promise<readonly string[]> {
  const { simulation, parts, trouble, invariants } = resting
  const endMs = simulation.nowMs + restMs
  const isPatient = simulation.random.integer('patient', patientOneIn) === 0
  for (;;) {
    await simulation.advance(quietMs / 2)
    const isLate = simulation.nowMs >= endMs
    const isQuiet = trouble.isOver && simulation.nowMs - invariants.changedMs >= quietMs
    if (!isLate && (isPatient || !isQuiet)) continue
    const unrest = [...parts.busy(), ...(await simulation.run(check(parts)))]
    if (unrest.length === 0 || isLate) return unrest
  }
}

interface Resting {
  readonly simulation: Simulation
  readonly parts: Parts
  readonly trouble: Trouble
  readonly invariants: Invariants
}

async function check(parts: Parts): Promise<readonly string[]> {
  const violations = await checkAtRest(parts)
  return violations.length > 0 ? violations : checkInformers(parts.userClient, parts.informers())
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
