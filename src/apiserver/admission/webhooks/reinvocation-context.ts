import { equalJson } from '#/api/text/json-value.ts'
import type { AdmittedObject, Reinvocation } from '../admission-chain.ts'

/** Tracks which webhooks or policies must be reinvoked because the object changed after they were called. */
export class ReinvocationContext {
  readonly #reinvocation: Reinvocation
  /** Called since the last change, with reinvocationPolicy IfNeeded. */
  #asked = new Set<string>()
  readonly #again = new Set<string>()
  #lastObject: AdmittedObject

  constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation
  }

  get round(): 0 | 1 {
    return this.#reinvocation.isReinvocation ? 1 : 0
  }

  /** Starts a pass. Other plugins may have changed the object since the previous pass. */
  begin(object: AdmittedObject): void {
    if (this.#reinvocation.isReinvocation && !isSame(this.#lastObject, object)) this.#askAgain()
  }

  /** The second pass calls only those that need reinvocation. */
  mayCall(id: string): boolean {
    return !this.#reinvocation.isReinvocation || this.#again.has(id)
  }

  called(id: string): void {
    this.#asked.add(id)
  }

  /** A webhook or policy changed the object. */
  changed(): void {
    this.#askAgain()
    this.#reinvocation.request()
  }

  end(object: AdmittedObject): void {
    this.#lastObject = object
  }

  #askAgain(): void {
    for (const id of this.#asked) this.#again.add(id)
    this.#asked = new Set()
  }
}

function isSame(a: AdmittedObject, b: AdmittedObject): boolean {
  if (a === undefined || b === undefined) return a === b
  return equalJson(a, b)
}
