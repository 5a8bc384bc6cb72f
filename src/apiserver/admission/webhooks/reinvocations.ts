import { equalJson } from '#/api/json-value.ts'
import type { Admitted, Reinvocation } from '../admission.ts'

/** Which webhooks are asked again about a write, since something changed after they were asked. */
export class Reinvocations {
  readonly #reinvocation: Reinvocation
  /** Asked since the last change, and willing to be asked again. */
  #asked = new Set<string>()
  readonly #again = new Set<string>()
  #lastObject: Admitted

  constructor(reinvocation: Reinvocation) {
    this.#reinvocation = reinvocation
  }

  get round(): 0 | 1 {
    return this.#reinvocation.isSecond ? 1 : 0
  }

  /** A pass over the webhooks begins. Others may have changed the object since the last one ended. */
  begin(object: Admitted): void {
    if (this.#reinvocation.isSecond && !isSame(this.#lastObject, object)) this.#askAgain()
  }

  /** In the second pass nobody is asked for the first time. */
  mayCall(id: string): boolean {
    return !this.#reinvocation.isSecond || this.#again.has(id)
  }

  called(id: string): void {
    this.#asked.add(id)
  }

  /** A webhook changed the object. */
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
