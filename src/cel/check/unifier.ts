import { dynType, parameter, typeArguments, type Type, mapTypeArguments } from '../type.ts'

/**
 * Unification of type parameters. `assign` either succeeds and records the bindings, or fails and changes
 * nothing.
 */
export class Unifier {
  readonly #bindings = new Map<string, Type>()
  /** Undo log of the current attempt: each parameter with its previous binding. */
  #trail: [string, Type | undefined][] = []
  #fresh = 0

  /** An unbound type parameter. */
  freshParameter(): Type {
    return parameter(`_var${this.#fresh++}`)
  }

  /** True if values of the first types are assignable to the second. */
  assignAll(from: readonly Type[], to: readonly Type[]): boolean {
    this.#trail = []
    if (from.length === to.length && from.every((type, index) => this.#assign(type, to[index]!))) return true
    for (const [name, before] of this.#trail.reverse()) {
      if (before === undefined) this.#bindings.delete(name)
      else this.#bindings.set(name, before)
    }
    return false
  }

  assign(from: Type, to: Type): boolean {
    return this.assignAll([from], [to])
  }

  /** The type with bound parameters substituted. */
  resolve(type: Type): Type {
    return this.#substitute(type, false)
  }

  /** Like `resolve`, with dyn for unbound parameters. */
  resolveFully(type: Type): Type {
    return this.#substitute(type, true)
  }

  #substitute(type: Type, isFull: boolean): Type {
    if (type.kind !== 'parameter') return mapTypeArguments(type, part => this.#substitute(part, isFull))
    const bound = this.#bindings.get(type.name)
    if (bound !== undefined) return this.#substitute(bound, isFull)
    return isFull ? dynType : type
  }

  #assign(from: Type, to: Type): boolean {
    if (to.kind === 'parameter') {
      const outcome = this.#bind(to.name, from)
      if (outcome !== 'impossible') return outcome === 'bound'
    }
    if (from.kind === 'parameter') return this.#bind(from.name, to) === 'bound'
    if (isWild(from) || isWild(to)) return true
    if (from.kind === 'null' || to.kind === 'null') {
      return from.kind === to.kind || isNullable(from.kind === 'null' ? to : from)
    }
    // Types of types are always compatible: the type itself is known only at run time.
    if (from.kind === 'type' && to.kind === 'type') return true
    return haveSame(from, to, (a, b) => this.#assign(a, b))
  }

  /** `conflict` if the parameter is bound to another type, `impossible` if it occurs in the type itself. */
  #bind(name: string, type: Type): 'bound' | 'conflict' | 'impossible' {
    if (type.kind === 'parameter' && type.name === name) return 'bound'
    const bound = this.#bindings.get(name)
    if (bound === undefined) {
      if (this.#contains(type, name)) return 'impossible'
      this.#set(name, type)
      return 'bound'
    }
    if (!this.#assign(type, bound)) return 'conflict'
    const general = moreGeneral(type, bound)
    if (general !== bound && !this.#contains(general, name)) this.#set(name, general)
    return 'bound'
  }

  #set(name: string, type: Type): void {
    this.#trail.push([name, this.#bindings.get(name)])
    this.#bindings.set(name, type)
  }

  #contains(type: Type, name: string): boolean {
    if (type.kind !== 'parameter') return typeArguments(type).some(part => this.#contains(part, name))
    if (type.name === name) return true
    const bound = this.#bindings.get(type.name)
    return bound !== undefined && this.#contains(bound, name)
  }
}

/** The more general of two compatible types. */
export function moreGeneral(a: Type, b: Type): Type {
  return isAsGeneral(a, b) ? a : b
}

export function equalTypes(a: Type, b: Type): boolean {
  return haveSame(a, b, equalTypes)
}

function isAsGeneral(a: Type, b: Type): boolean {
  if (a.kind === 'dyn' || a.kind === 'parameter') return true
  if (b.kind === 'dyn' || b.kind === 'parameter') return false
  if (a.kind === 'type' && b.kind === 'type') return true
  return haveSame(a, b, isAsGeneral)
}

/** True if two types have the same kind and name, and compatible type arguments. */
function haveSame(a: Type, b: Type, goTogether: (a: Type, b: Type) => boolean): boolean {
  if (a.kind !== b.kind || nameOf(a) !== nameOf(b)) return false
  const others = typeArguments(b)
  return typeArguments(a).every((part, index) => goTogether(part, others[index]!))
}

function isWild(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'error'
}

function isNullable({ kind }: Type): boolean {
  return ['opaque', 'optional', 'object', 'duration', 'timestamp'].includes(kind)
}

function nameOf(type: Type): string {
  if (type.kind === 'object') return type.type.name
  return type.kind === 'opaque' || type.kind === 'parameter' ? type.name : ''
}
