import { equalJson } from '#/api/json-value.ts'
import type { Admitted, Reinvocation } from '../admission.ts'

/** Tracks which webhooks or policies must be reinvoked because the object changed after they were called. */
export class Reinvocations {
  readonly #reinvocation: Reinvocation
  /** Called since the last change, with reinvocationPolicy IfNeeded. */
  #asked = new Set<string>()
  readonly #again = new Set<string>()
  #lastObject: Admitted

  constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation
  }

  get round(): 0 | 1 {
    return this.#reinvocation.isSecond ? 1 : 0
  }

  /** Starts a pass. Other plugins may have changed the object since the previous pass. */
  begin(object: Admitted): void {
    if (this.#reinvocation.isSecond && !isSame(this.#lastObject, object)) this.#askAgain()
  }

  /** The second pass calls only those that need reinvocation. */
  mayCall(id: string): boolean {
    return !this.#reinvocation.isSecond || this.#again.has(id)
  }

  called(id: string): void {
    this.#asked.add(id)
  }

  /** A webhook or policy changed the object. */
  changed(): void {
    this.#askAgain()
    this.#reinvocation.want()
  }

  end(object: Admitted): void {
    this.#lastObject = object
  }

  #askAgain(): void {
    for (const id of this.#asked) this.#again.add(id)
    this.#asked = new Set()
  }
}

function isSame(a: Admitted, b: Admitted): boolean {
  if (a === undefined || b === undefined) return a === b
  return equalJson(a, b)
}
