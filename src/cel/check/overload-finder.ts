import type { Overload } from '../function.ts'
import { dynType, type Type, mapTypeArguments } from '../type.ts'
import { equalTypes, moreGeneral, type Unifier } from './unifier.ts'

/** Finds the overloads that match argument types, and the result type. */
export class OverloadFinder {
  readonly #unifier: Unifier

  constructor(unifier: Unifier) {
    this.#unifier = unifier
  }

  /** Undefined if none matches. If the result types differ the result is dyn. */
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

  /** The element type of a list with elements of both types; undefined if they are incompatible. */
  join(before: Type, type: Type): Type | undefined {
    return this.#unifier.assign(before, type) ? moreGeneral(before, type) : undefined
  }

  /** The type with fresh type parameters, so that two calls of one overload do not share them. */
  #freshen(type: Type, fresh: Map<string, Type>): Type {
    if (type.kind !== 'parameter') return mapTypeArguments(type, part => this.#freshen(part, fresh))
    return fresh.getOrInsertComputed(type.name, () => this.#unifier.freshParameter())
  }
}
