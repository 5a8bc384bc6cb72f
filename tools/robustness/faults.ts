/** Faults that a target offers, and the order in which a run injects them, drawn from its seed. */
import type { SeededRandom } from '#/base/seeded-random.ts'

/**
 * Damage of the store's files between two starts belongs here as soon as the embedded store recognizes it: until then
 * it would be reported as lost writes, which it is.
 */
export const faultKinds = {
  'kill': 'SIGKILL for the API server, started again',
  'stop': 'SIGSTOP for the API server, continued after seconds',
  'full-disk': 'no space left on the disk of the cluster (root)',
  'sync-error': 'fsync and fdatasync of the store fail with EIO (strace)',
  'slow-sync': 'fsync and fdatasync of the store take long (strace)',
  'kill-member': 'SIGKILL for an etcd member',
  'stop-member': 'SIGSTOP for an etcd member',
  'partition': 'hosts of API servers and etcd members do not reach each other (root)',
} as const

export type FaultKind = keyof typeof faultKinds

export interface Fault {
  readonly kind: FaultKind
  /** Resolves, when the fault is there, with the function that ends it. */
  readonly inject: (random: SeededRandom) => Promise<Heal>
}

/** Resolves when everything runs again. */
export type Heal = () => Promise<void>

/** A fault that this machine or target cannot have. */
export interface MissingFault {
  readonly kind: FaultKind
  readonly reason: string
}

export interface PlannedFault {
  readonly fault: Fault
  /** Before the fault, without any. */
  readonly quietMs: number
  readonly lengthMs: number
}

/**
 * Endless. Each kind comes once before one comes again, so that short runs have all of them.
 */
export function* planFaults(
  faults: readonly Fault[],
  random: SeededRandom,
): Generator<PlannedFault, void, undefined> {
  for (;;) {
    for (const fault of shuffle(faults, random)) {
      const quietMs = quietMsMin + random.integer(quietMsMax - quietMsMin)
      // Short ones show what is lost in flight, long ones exceed the timeouts of clients and elections.
      const lengthMs = random.integer(3) === 0 ? random.integer(lengthMsMax) : random.integer(1_000)
      yield { fault, quietMs, lengthMs }
    }
  }
}

const quietMsMin = 500
const quietMsMax = 3_000
const lengthMsMax = 6_000

function shuffle<T>(items: readonly T[], random: SeededRandom): T[] {
  const shuffled = [...items]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const drawn = random.integer(last + 1)
    ;[shuffled[last], shuffled[drawn]] = [shuffled[drawn]!, shuffled[last]!]
  }
  return shuffled
}
