/**
 * Decides from the eviction signals which node pressure conditions are true and which thresholds require eviction.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
 */
import {
  signalKinds,
  thresholdAmount,
  type EvictionSignal,
  type PressureType,
  type Threshold,
} from './thresholds.ts'

/** Available and total amount of a resource. */
export interface SignalObservation {
  readonly available: number
  readonly capacity: number
}

/** Signals that could not be read are absent and cause no pressure. */
export type SignalObservations = Readonly<Partial<Record<EvictionSignal, SignalObservation | undefined>>>

/** Kept from one round to the next. Times are monotonic. */
export interface PressureState {
  /** When a threshold was first met; those that are no longer met are absent. */
  readonly firstMetMs: ReadonlyMap<Threshold, number>
  readonly lastPressureMs: ReadonlyMap<PressureType, number>
  /** Thresholds that required eviction; they do until their minimum reclaim is available. */
  readonly starved: readonly Threshold[]
}

export const noPressure: PressureState = { firstMetMs: new Map(), lastPressureMs: new Map(), starved: [] }

export interface PressureInput {
  readonly thresholds: readonly Threshold[]
  readonly observations: SignalObservations
  /** A condition stays true this long after its last observation, to prevent flapping. */
  readonly transitionMs: number
  readonly nowMs: number
}

/** In the next state, `starved` are the thresholds that require eviction, most important first. */
export function planPressure(state: PressureState, input: PressureInput): PressureState {
  const { thresholds, observations, transitionMs, nowMs } = input
  const unresolved = new Set(state.starved.filter(threshold => needsReclaim(threshold, observations)))
  const met = thresholds.filter(threshold => isMet(threshold, observations) || unresolved.has(threshold))
  const firstMetMs = new Map(met.map(threshold => [threshold, state.firstMetMs.get(threshold) ?? nowMs]))
  const observed = met.map(({ signal }) => [signalKinds[signal].pressure, nowMs] as const)
  const lastPressureMs = new Map(
    [...state.lastPressureMs, ...observed].filter(([, lastMs]) => nowMs - lastMs < transitionMs),
  )
  const starved = met.filter(threshold => nowMs - (firstMetMs.get(threshold) ?? nowMs) >= threshold.graceMs)
  return { firstMetMs, lastPressureMs, starved: starved.toSorted((a, b) => rankOf(a) - rankOf(b)) }
}

/** Memory before all other resources. */
function rankOf({ signal }: Threshold): number {
  return signalKinds[signal].resource === 'memory' ? 0 : 1
}

export function isMet({ signal, value }: Threshold, observations: SignalObservations): boolean {
  return isBelow(observations[signal], [value])
}

/** True until the minimum reclaim is available, too. */
export function needsReclaim(threshold: Threshold, observations: SignalObservations): boolean {
  const { signal, value, minimumReclaim = '0' } = threshold
  return isBelow(observations[signal], [value, minimumReclaim])
}

function isBelow(observed: SignalObservation | undefined, amounts: readonly string[]): boolean {
  // Filesystems that do not count inodes report a capacity of 0.
  if (observed === undefined || observed.capacity === 0) return false
  const { available, capacity } = observed
  return available < amounts.reduce((sum, amount) => sum + thresholdAmount(amount, capacity), 0)
}
