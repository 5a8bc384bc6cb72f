/** Faults that a target offers, and the order in which a run injects them, drawn from its seed. */
import type { SeededRandom } from '#/base/seeded-random.ts'

export const faultKinds = {
  'kill': 'SIGKILL for the API server, started again',
  'stop': 'SIGSTOP for the API server, continued after seconds',
  'damage': 'files of the embedded store are damaged after SIGKILL',
  'full-disk': 'no space left on the disk of the cluster (root)',
  'sync-error': 'fsync and fdatasync of the store fail with EIO (strace)',
  'slow-sync': 'fsync and fdatasync of the store take long (strace)',
  'kill-member': 'SIGKILL for an etcd member',
  'stop-member': 'SIGSTOP for an etcd member',
  'kill-host': 'SIGKILL for k8ts host run, with all processes of the host',
  'kill-etcd-leader': 'SIGKILL for the etcd member that leads',
  'kill-controllers': 'SIGKILL for the controller manager that holds the lease',
  'kill-scheduler': 'SIGKILL for the scheduler that holds the lease',
  'cut-off': 'the network link of a host is down',
  'isolate': 'the network link of a host is down until its pods are evicted',
  'partition': 'hosts of API servers and etcd members do not reach each other (root)',
} as const

export type FaultKind = keyof typeof faultKinds

export interface Fault {
  readonly kind: FaultKind
  /** What it controls: two faults at the same time have no part in common. */
  readonly parts: readonly TargetPart[]
  /** Resolves, when the fault is there, with the function that ends it. */
  readonly inject: (random: SeededRandom) => Promise<Heal>
}

export type TargetPart = 'api-server' | 'member' | 'syncs' | 'disk' | 'network'

/** Resolves when everything runs again. */
export type Heal = () => Promise<FaultDetails | void>

export interface FaultDetails {
  /** What exactly was done. */
  readonly what: string
  /** How it ended, in a word or two. */
  readonly outcome: string
}

/** A fault that this machine or target cannot have. */
export interface MissingFault {
  readonly kind: FaultKind
  readonly reason: string
}

/** Faults that overlap. */
export interface FaultGroup {
  /** Before the first fault, without any. */
  readonly quietMs: number
  readonly faults: readonly PlannedFault[]
}

export interface PlannedFault {
  readonly fault: Fault
  /** After the first fault of the group, and before its end. */
  readonly delayMs: number
  readonly lengthMs: number
}

/** Endless. Each kind comes once before one comes again, so that short runs have all of them. */
export function* planFaults(
  faults: readonly Fault[],
  random: SeededRandom,
): Generator<FaultGroup, void, undefined> {
  for (;;) {
    const waiting = shuffle(faults, random)
    while (waiting.length > 0) yield planGroup(waiting, random)
  }
}

/** Takes the faults of a group from `waiting`. */
function planGroup(waiting: Fault[], random: SeededRandom): FaultGroup {
  const quietMs = quietMsMin + random.integer(quietMsMax - quietMsMin)
  const size = groupSizes[random.integer(groupSizes.length)]!
  const first: PlannedFault = { fault: waiting.shift()!, delayMs: 0, lengthMs: drawLengthMs(random) }
  const group = [first]
  for (let index = 0; index < waiting.length && group.length < size;) {
    const fault = waiting[index]!
    if (group.some(other => sharesPart(other.fault, fault))) {
      index++
      continue
    }
    waiting.splice(index, 1)
    group.push({ fault, delayMs: random.integer(first.lengthMs), lengthMs: drawLengthMs(random) })
  }
  return { quietMs, faults: group }
}

/** Half of all faults come alone: what they cause is easier to explain. */
const groupSizes = [1, 1, 1, 2, 2, 3]

function sharesPart(left: Fault, right: Fault): boolean {
  return left.parts.some(part => right.parts.includes(part))
}

/** Short ones show what is lost in flight, long ones exceed the timeouts of clients and elections. */
function drawLengthMs(random: SeededRandom): number {
  return 1 + (random.integer(3) === 0 ? random.integer(lengthMsMax) : random.integer(1_000))
}

const quietMsMin = 500
const quietMsMax = 3_000
const lengthMsMax = 6_000

export function shuffle<T>(items: readonly T[], random: SeededRandom): T[] {
  const shuffled = [...items]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const drawn = random.integer(last + 1)
    ;[shuffled[last], shuffled[drawn]] = [shuffled[drawn]!, shuffled[last]!]
  }
  return shuffled
}
