/**
 * What running an expression may cost. Costs are Kubernetes': about one for each step, a tenth for each
 * character that is looked at. They do not depend on the machine, so that an expression which ends on one
 * server ends on all.
 */
import { ListValue, MapValue, type Value } from './value.ts'

/** What one expression may cost when the caller has no reason to say otherwise. */
export const expressionCostMax = 1_000_000

/** The cost of looking at one character, byte or element. */
export const traversalFactor = 0.1

/** An expression, or all that share a budget, would cost more than is allowed. No operator absorbs it. */
export class CostExceeded {
  readonly message = 'operation cancelled: actual cost limit exceeded'
}

/**
 * What is left for one or several expressions. The budget of one expression may draw on one that many share:
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
    // Written so that a cost that is no number ends the expression too.
    if (!(this.#spent <= this.#limit)) throw new CostExceeded()
  }
}

/** Characters that a comparison of two texts gets through for one step. */
const comparedCharacters = 1_000

/** What it costs to find a key or to compare texts of one length: 1 but for long ones. */
export function lookupCost(key: Value): number {
  return typeof key === 'string' || key instanceof Uint8Array
    ? 1 + Math.floor(key.length / comparedCharacters)
    : 1
}

/** What it costs to look for a part everywhere in a text. */
export function findCost(text: string, part: string): number {
  return traversalCost(text) * traversalCost(part)
}

/** Characters, bytes, elements or entries; 1 for everything else. */
export function sizeOf(value: Value): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length
  if (value instanceof ListValue || value instanceof MapValue) return value.size
  return 1
}

/** The cost of looking at the whole of a value, at least 1. */
export function traversalCost(value: Value): number {
  return Math.max(1, Math.ceil(sizeOf(value) * traversalFactor))
}
