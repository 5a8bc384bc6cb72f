/**
 * Node pressure conditions from eviction signals and thresholds.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
 */
import { quantityToNumber, tryParseQuantity } from '#/api/text/quantity.ts'

export type PressureType = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure'

/** Available and total amount of a resource. */
export interface SignalObservation {
  readonly available: number
  readonly total: number
}

/** By eviction signal, such as `memory.available`. Undefined if it could not be read. */
export type SignalObservations = Readonly<Record<string, SignalObservation | undefined>>

const pressureOfSignal: Readonly<Record<string, PressureType>> = {
  'memory.available': 'MemoryPressure',
  'nodefs.available': 'DiskPressure',
  'nodefs.inodesFree': 'DiskPressure',
  'imagefs.available': 'DiskPressure',
  'imagefs.inodesFree': 'DiskPressure',
  'pid.available': 'PIDPressure',
}

export function observedPressures(
  readings: SignalObservations,
  thresholds: Readonly<Record<string, string>>,
): ReadonlySet<PressureType> {
  const pressures = new Set<PressureType>()
  for (const [signal, threshold] of Object.entries(thresholds)) {
    const pressure = pressureOfSignal[signal]
    const supply = readings[signal]
    // Filesystems that do not count inodes report a total of 0.
    if (pressure === undefined || supply === undefined || supply.total === 0) continue
    if (supply.available < amountOf(threshold, supply.total)) pressures.add(pressure)
  }
  return pressures
}

/**
 * Pressure transition period: a condition stays true this long after the signal recovered, to prevent
 * flapping.
 */
const transitionMs = 300_000

/** Times of the last observation of each pressure, and the conditions that result. */
export class PressureTransitions {
  readonly #lastMs = new Map<PressureType, number>()

  observe(observed: ReadonlySet<PressureType>, nowMs: number): ReadonlySet<PressureType> {
    for (const pressure of observed) this.#lastMs.set(pressure, nowMs)
    for (const [pressure, lastMs] of this.#lastMs) {
      if (nowMs - lastMs >= transitionMs) this.#lastMs.delete(pressure)
    }
    return new Set(this.#lastMs.keys())
  }
}

/** Parses `100Mi`, or a percentage of the total. */
function amountOf(threshold: string, total: number): number {
  if (threshold.endsWith('%')) return (total * Number(threshold.slice(0, -1))) / 100
  const quantity = tryParseQuantity(threshold)
  return quantity === undefined ? 0 : quantityToNumber(quantity)
}
