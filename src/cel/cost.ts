/**
 * Run-time cost limits. Costs are Kubernetes': about 1 for each step, a tenth for each character read. They
 * do not depend on the machine, so that an expression that completes on one server completes on all.
 */
import { ListValue, MapValue, type Value } from './value.ts'

/** Default cost limit of one expression. */
export const expressionCostMax = 1_000_000

/** The cost of traversing one character, byte or element. */
export const traversalFactor = 0.1

/**
 * The cost limit of an expression, or of all expressions sharing a budget, was exceeded. No operator absorbs
 * it.
 */
export class CostExceeded {
  readonly message = 'operation cancelled: actual cost limit exceeded'
}

/**
 * Remaining cost for one or several expressions. The budget of one expression may also draw on a shared one:
 * `new Budget(expressionCostMax, shared)`.
 */
export class Budget {
  readonly #limit: number
  readonly #shared: Budget | undefined
  #spent = 0

  constructor(limit: number, shared?: Budget) {
    this.#limit = limit
    this.#shared = shared
  }

  get spent(): number {
    return this.#spent
  }

  get isExceeded(): boolean {
    return this.#spent > this.#limit
  }

  charge(cost: number): void {
    this.#spent += cost
    this.#shared?.charge(cost)
    // Written so that a NaN cost also exceeds the limit.
    if (!(this.#spent <= this.#limit)) throw new CostExceeded()
  }
}

/** Characters that a string comparison covers per unit of cost. */
const comparedCharacters = 1_000

/** The cost of a key lookup or of comparing strings of this length: 1 except for long ones. */
export function lookupCost(key: Value): number {
  return typeof key === 'string' || key instanceof Uint8Array
    ? 1 + Math.floor(key.length / comparedCharacters)
    : 1
}

/** The cost of searching a substring. */
export function findCost(text: string, part: string): number {
  return traversalCost(text) * traversalCost(part)
}

/** Number of characters, bytes, elements or entries; 1 for other values. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length
  if (value instanceof ListValue || value instanceof MapValue) return value.size
  return 1
}

/** The cost of traversing a whole value, at least 1. */
export function traversalCost(value: Value): number {
  return Math.max(1, Math.ceil(sizeOf(value) * traversalFactor))
}
