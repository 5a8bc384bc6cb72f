/** Random faults of members, drawn for each request and each response of a watch. */
import type { Random } from '#/platform/platform.ts'

export const etcdRequestFaults = [
  /** Answered late, perhaps after the client's deadline. */
  'delay',
  /** Neither executed nor answered. */
  'lose-request',
  /** Executed and not answered. */
  'lose-response',
  /** Executed long after the client has given up. */
  'execute-late',
  /** Executed or not, and answered with `request timed out`. */
  'timed-out',
  /** Executed or not, and answered with `leader changed`. */
  'leader-changed',
  /** Refused before execution. */
  'too-many-requests',
  /** Executed or not, and the connection is reset. */
  'reset',
] as const

export const etcdWatchFaults = [
  'delay',
  /** Nothing more is sent, and the stream stays open. */
  'stall',
  'reset',
  /** The member cancels the watch. */
  'cancel',
  /** Each event is sent in its own fragment. */
  'fragment',
] as const

export type EtcdRequestFault = (typeof etcdRequestFaults)[number]
export type EtcdWatchFault = (typeof etcdWatchFaults)[number]

export interface EtcdFaults {
  readonly requestFaults: readonly EtcdRequestFault[]
  readonly watchFaults: readonly EtcdWatchFault[]
  /** Probability of a fault per request and per response of a watch. */
  readonly chance: number
}

export const noFaults: EtcdFaults = { requestFaults: [], watchFaults: [], chance: 0 }

export function drawFault<T>(
  random: Random,
  label: string,
  options: { faults: readonly T[]; chance: number },
): T | undefined {
  const { faults, chance } = options
  if (faults.length === 0 || chance <= 0 || random.fraction(label) >= chance) return undefined
  return faults[random.integer(`kind of ${label}`, faults.length)]
}
