/**
 * The whole control plane from a seed: an API server that crashes and comes back on its store, two controller managers
 * that compete for the lead, a scheduler, nodes that fail, and users who change their minds, with a network between
 * them that loses, delays, repeats and breaks apart. Checkers look at every revision of the store, at what controllers
 * decide, and at everything when it has come to rest. Seed in, verdict out.
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
  /** The same for the same seed, everywhere. */
  readonly traceHash: string
  readonly violations: readonly string[]
  /** The last lines of what happened. */
  readonly trace: readonly string[]
  /** Writes that the store has seen. */
  readonly revisions: number
}

export interface ControlPlaneOptions {
  readonly controllers: readonly Controller[]
}

/** How often users act, and how often something breaks in that time. */
const userSteps = 25

/** When what failed is mended, everything has so long to come to rest: virtual. */
const restMs = 1_800_000

/** It is at rest when so long nothing was written but signs of life. */
const quietMs = 60_000

/** Some go on until the end, to see that rest is rest. */
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

/** Says what is still wrong when there is no more time. */
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
