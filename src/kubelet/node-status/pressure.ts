/**
 * Whether a node runs short of something, by the signals and thresholds of Kubernetes.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/
 */
import { quantityToNumber, tryParseQuantity } from '#/api/quantity.ts'

export type PressureType = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure'

/** What of a thing is left, and how much of it there is. */
export interface Supply {
  readonly available: number
  readonly total: number
}

/** By signal: `memory.available`, `nodefs.inodesFree`. What could not be read is not there. */
export type Readings = Readonly<Record<string, Supply | undefined>>

const pressureOfSignal: Readonly<Record<string, PressureType>> = {
  'memory.available': 'MemoryPressure',
  'nodefs.available': 'DiskPressure',
  'nodefs.inodesFree': 'DiskPressure',
  'imagefs.available': 'DiskPressure',
  'imagefs.inodesFree': 'DiskPressure',
  'pid.available': 'PIDPressure',
}

export function observedPressures(
  readings: Readings,
  thresholds: Readonly<Record<string, string>>,
): ReadonlySet<PressureType> {
  const pressures = new Set<PressureType>()
  for (const [signal, threshold] of Object.entries(thresholds)) {
    const pressure = pressureOfSignal[signal]
    const supply = readings[signal]
    // A filesystem that does not count something says that it has none of it.
    if (pressure === undefined || supply === undefined || supply.total === 0) continue
    if (supply.available < amountOf(threshold, supply.total)) pressures.add(pressure)
  }
  return pressures
}

/** For so long a node is said to run short after it last did, so that pods do not come and go with every wave. */
const transitionMs = 300_000

/** When each pressure was last observed; those that count now. */
export class LastingPressures {
  readonly #lastMs = new Map<PressureType, number>()

  observe(observed: ReadonlySet<PressureType>, nowMs: number): ReadonlySet<PressureType> {
    for (const pressure of observed) this.#lastMs.set(pressure, nowMs)
    for (const [pressure, lastMs] of this.#lastMs) {
      if (nowMs - lastMs >= transitionMs) this.#lastMs.delete(pressure)
    }
    return new Set(this.#lastMs.keys())
  }
}

/** `100Mi`, or a share of the whole. */
function amountOf(threshold: string, total: number): number {
  if (threshold.endsWith('%')) return (total * Number(threshold.slice(0, -1))) / 100
  const quantity = tryParseQuantity(threshold)
  return quantity === undefined ? 0 : quantityToNumber(quantity)
}
