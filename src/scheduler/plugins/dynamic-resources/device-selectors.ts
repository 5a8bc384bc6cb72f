import { messageOf } from '#/base/message-of.ts'
import { LruMap } from '#/base/lru-map.ts'
import type { Device } from '#/api/generated/resource/v1.ts'

/** The properties of a device that are visible to selectors. */
export interface SelectableDevice extends Pick<
  Device,
  'attributes' | 'capacity' | 'allowMultipleAllocations'
> {
  readonly driver: string
}

/** True if the device matches. Throws Error if the evaluation fails. */
export type DeviceTest = (device: SelectableDevice) => boolean

/**
 * The selector language for devices.
 * https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#deviceclass
 */
export interface DeviceSelectors {
  /** Throws Error if the expression is invalid. */
  readonly compile: (expression: string) => DeviceTest
}

export interface DeviceSelector {
  readonly expression: string
  /** Origin of the selector in errors: `class gpu: selector #0`. */
  readonly of: string
}

interface SelectorTarget {
  readonly driver: string
  readonly device: Device
}

/** Maximum number of cached compiled expressions. */
const expressionsMax = 100

/** Maximum number of cached results for each version of a device; all are discarded at the bound. */
const answersMax = 16

/** Caches compiled expressions, and their results for each version of a device. */
export class SelectorCache {
  readonly #selectors: DeviceSelectors
  readonly #compiled = new LruMap<string, DeviceTest>(expressionsMax)
  readonly #answers = new WeakMap<Device, Map<string, boolean>>()

  constructor(selectors: DeviceSelectors) {
    this.#selectors = selectors
  }

  isMatch({ expression, of }: DeviceSelector, { driver, device }: SelectorTarget): boolean {
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
    throw new Error(`${what}: ${messageOf(cause)}`, { cause })
  }
}
