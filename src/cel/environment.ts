/**
 * The declarations that an expression can use: variables with their types, functions, macros and types. The
 * standard library is always included. An environment is immutable and shared by many expressions; `extend`
 * creates a larger one.
 */
import type { ConstructedType, Library, Macro, Overload } from './function.ts'
import { standardLibrary } from './standard/standard.ts'
import { type Type, typeOfType } from './type.ts'
import { TypeValue } from './value.ts'

export interface EnvironmentOptions {
  /** Names may be qualified with dots. */
  readonly variables?: Readonly<Record<string, Type>>
  readonly libraries?: readonly Library[]
}

/** The declaration of a name: a variable, or a type as a value. */
export interface Declaration {
  readonly type: Type
  readonly value?: TypeValue
}

export class Environment {
  readonly #variables: ReadonlyMap<string, Declaration>
  readonly #libraries: readonly Library[]
  readonly #declarations: LibraryDeclarations

  constructor({ variables = {}, libraries = [] }: EnvironmentOptions = {}, base?: Environment) {
    this.#libraries = [...(base ? base.#libraries : []), ...libraries]
    const added = Object.entries(variables).map(([name, type]) => [name, { type }] as const)
    this.#variables = new Map([...(base ? base.#variables : []), ...added])
    // Environments that only differ in variables share the declarations of their libraries.
    const isShared = base !== undefined && libraries.length === 0
    this.#declarations = isShared ? base.#declarations : new LibraryDeclarations(this.#libraries)
  }

  /** A copy with additional declarations. A variable of the same name is replaced. */
  extend(options: EnvironmentOptions): Environment {
    return new Environment(options, this)
  }

  findName(name: string): Declaration | undefined {
    return this.#variables.get(name) ?? this.#declarations.names.get(name)
  }

  /** All overloads of a name, methods and functions; undefined if there are none. */
  findFunction(name: string): readonly Overload[] | undefined {
    return this.#declarations.functions.get(name)
  }

  findMacro(name: string, isReceiver: boolean, parameters: number): Macro | undefined {
    return this.#declarations.macros.get(macroKey(name, isReceiver, parameters))
  }

  findConstructor(name: string): ConstructedType | undefined {
    for (const { constructors } of this.#libraries) {
      const found = constructors?.find(name)
      if (found !== undefined) return found
    }
    return undefined
  }
}

/** The declarations of libraries, by name. */
class LibraryDeclarations {
  readonly names = new Map<string, Declaration>()
  readonly functions = new Map<string, Overload[]>()
  readonly macros = new Map<string, Macro>()

  constructor(libraries: readonly Library[]) {
    for (const library of [standardLibrary, ...libraries]) this.#add(library)
  }

  #add({ overloads = [], macros = [], types = [] }: Library): void {
    for (const overload of overloads) {
      this.functions.getOrInsertComputed(overload.name, () => []).push(overload)
    }
    for (const macro of macros) {
      this.macros.set(macroKey(macro.name, macro.receiver, macro.argumentCount), macro)
    }
    for (const type of types) {
      const name = runtimeName(type)
      this.names.set(name, { type: typeOfType(type), value: new TypeValue(name) })
    }
  }
}

function macroKey(name: string, isReceiver: boolean, parameters: number): string {
  return `${name}:${parameters}:${isReceiver}`
}

/** The type name as returned by `type()`. */
function runtimeName(type: Type): string {
  if (type.kind === 'object') return type.type.name
  return 'name' in type ? type.name : (runtimeNames.get(type.kind) ?? type.kind)
}

const runtimeNames: ReadonlyMap<string, string> = new Map([
  ['null', 'null_type'],
  ['timestamp', 'google.protobuf.Timestamp'],
  ['duration', 'google.protobuf.Duration'],
  ['optional', 'optional_type'],
])
