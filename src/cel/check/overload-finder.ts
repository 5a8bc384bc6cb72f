import type { Overload } from '../function.ts'
import { dynType, type Type, withParts } from '../type.ts'
import { equalTypes, moreGeneral, type Unifier } from './unifier.ts'

/** Which overloads fit the types of arguments, and what type comes out. */
export class OverloadFinder {
  readonly #unifier: Unifier

  constructor(unifier: Unifier) {
    this.#unifier = unifier
  }

  /** Undefined when none fits. When results differ, the type is dyn: values will decide. */
  find(
    overloads: readonly Overload[],
    parameters: readonly Type[],
    isReceiver: boolean,
  ): { overloads: Overload[]; type: Type } | undefined {
    const fitting: Overload[] = []
    let result: Type | undefined
    for (const overload of overloads) {
      if (overload.receiver !== isReceiver) continue
      const fresh = new Map<string, Type>()
      const expected = overload.parameters.map(type => this.#freshen(type, fresh))
      if (!this.#unifier.assignAll(parameters, expected)) continue
      fitting.push(overload)
      const type = this.#unifier.resolve(this.#freshen(overload.result, fresh))
      if (result === undefined) result = type
      else if (!equalTypes(result, type)) result = dynType
    }
    return result === undefined ? undefined : { overloads: fitting, type: result }
  }

  /** The type of a list that has elements of both; undefined when they do not go together. */
  join(before: Type, type: Type): Type | undefined {
    return this.#unifier.assign(before, type) ? moreGeneral(before, type) : undefined
  }

  /** The type with parameters of its own, so that two calls of one overload do not meet. */
  #freshen(type: Type, fresh: Map<string, Type>): Type {
    if (type.kind !== 'parameter') return withParts(type, part => this.#freshen(part, fresh))
    const known = fresh.get(type.name) ?? this.#unifier.freshParameter()
    fresh.set(type.name, known)
    return known
  }
}
