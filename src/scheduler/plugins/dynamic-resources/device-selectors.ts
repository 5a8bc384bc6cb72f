import { LruMap } from '#/base/lru-map.ts'
import type { Device } from '#/api/generated/resource/v1.ts'

/** What an expression can see of a device. */
export interface SelectableDevice extends Pick<
  Device,
  'attributes' | 'capacity' | 'allowMultipleAllocations'
> {
  readonly driver: string
}

/** Whether a device is meant. Throws Error when that cannot be said of it. */
export type DeviceTest = (device: SelectableDevice) => boolean

/**
 * The language in which devices are selected.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#deviceclass
 */
export interface DeviceSelectors {
  /** Throws Error when the expression is not valid. */
  readonly compile: (expression: string) => DeviceTest
}

/** Expressions that are kept compiled; classes are few. */
const expressionsMax = 100

/** Expressions whose answers are remembered for each version of a device; past that all are asked for anew. */
const answersMax = 16

/** Compiles an expression once, and asks once what it says of each version of a device. */
export class SelectorCache {
  readonly #selectors: DeviceSelectors
  readonly #compiled = new LruMap<string, DeviceTest>(expressionsMax)
  readonly #answers = new WeakMap<Device, Map<string, boolean>>()

  constructor(selectors: DeviceSelectors) {
    this.#selectors = selectors
  }

  /** `of` says whose selector it is, for errors: `class gpu: selector #0`. */
  isMatch(expression: string, driver: string, device: Device, of: string): boolean {
    const known = this.#answers.get(device)
    const answer = known?.get(expression)
    if (answer !== undefined) return answer
    const test = this.#compile(expression, of)
    const { attributes, capacity, allowMultipleAllocations = false } = device
    const selectable = {
      driver,
      allowMultipleAllocations,
      ...(attributes && { attributes }),
      ...(capacity && { capacity }),
    }
    const isMatch = named(`${of}: CEL runtime error`, () => test(selectable))
    if (known === undefined || known.size >= answersMax)
      this.#answers.set(device, new Map([[expression, isMatch]]))
    else known.set(expression, isMatch)
    return isMatch
  }

  #compile(expression: string, of: string): DeviceTest {
    const known = this.#compiled.get(expression)
    if (known !== undefined) return known
    const test = named(`${of}: CEL compile error`, () => this.#selectors.compile(expression))
    this.#compiled.set(expression, test)
    return test
  }
}

function named<T>(what: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    throw new Error(`${what}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
