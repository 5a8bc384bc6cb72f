/** Bodies that differ from a valid one in one place, derived from the body and its schema. Pure, in a fixed order. */
import type { Body } from './request.ts'
import type { Schema, Schemas } from './schemas.ts'

export interface Mutation {
  /** `spec.containers.0.name missing`. */
  readonly about: string
  readonly body: Body
}

type Path = readonly (string | number)[]

interface Place {
  readonly path: Path
  readonly value: unknown
  /** The schema of the value, if the server has one. */
  readonly schema: Schema | undefined
}

const hugeText = 'x'.repeat(300)
const invalidText = 'Not Valid!'

export class Mutations {
  readonly #schemas: Schemas
  /** Types whose absent fields have been added in some place; once is enough, since most types are in many kinds. */
  readonly #filled = new Set<string>()

  constructor(schemas: Schemas) {
    this.#schemas = schemas
  }

  /** Changes of every field of the body, and every field of its schema that the body does not have. */
  of(body: Body, schema: Schema | undefined): readonly Mutation[] {
    return [...this.#places({ path: [], value: body, schema })].flatMap(place => this.#at(body, place))
  }

  *#places(place: Place): Generator<Place> {
    const { path, value, schema } = place
    yield place
    if (Array.isArray(value)) {
      // The first element stands for all.
      if (value.length > 0) {
        const items = schema && this.#schemas.resolve(schema).schema.items
        yield* this.#places({ path: [...path, 0], value: value[0], schema: items })
      }
    } else if (isObject(value)) {
      for (const [name, each] of Object.entries(value)) {
        if (path.length === 0 && (name === 'apiVersion' || name === 'kind')) continue
        yield* this.#places({ path: [...path, name], value: each, schema: this.#memberSchema(schema, name) })
      }
    }
  }

  #memberSchema(schema: Schema | undefined, name: string): Schema | undefined {
    if (schema === undefined) return undefined
    const { properties, additionalProperties } = this.#schemas.resolve(schema).schema
    return properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
  }

  #at(body: Body, { path, value, schema }: Place): readonly Mutation[] {
    const place = path.join('.') || 'object'
    const set = (what: string, changed: unknown): Mutation => {
      return { about: `${place} ${what}`, body: replaced(body, path, changed) as Body }
    }
    const changes = changesOf(value).map(([what, changed]) => set(what, changed))
    const added = isObject(value)
      ? this.#absent(value, schema).map(([what, changed]) => set(what, changed))
      : []
    if (path.length === 0)
      return [...changes.filter(({ about }) => about.endsWith('unknown field')), ...added]
    return [{ about: `${place} missing`, body: removed(body, path) as Body }, ...changes, ...added]
  }

  /** The value with each field of its schema that it does not have. */
  #absent(value: Body, schema: Schema | undefined): readonly (readonly [string, unknown])[] {
    if (schema === undefined) return []
    const { name, schema: resolved } = this.#schemas.resolve(schema)
    if (name !== '' && this.#filled.has(name)) return []
    this.#filled.add(name)
    return Object.entries(resolved.properties ?? {})
      .filter(([field]) => !(field in value))
      .flatMap(([field, member]) =>
        unlikely(this.#schemas, member).map(
          (added, index) =>
            [`with ${field}${index > 0 ? ' empty' : ''}`, { ...value, [field]: added }] as const,
        ),
      )
  }
}

/** Values for a field: of the right type but rarely valid, and an empty one. */
function unlikely(schemas: Schemas, schema: Schema): readonly unknown[] {
  const derived = schemas.derive(schema)
  if (typeof derived === 'string') return [derived === 'x' ? invalidText : derived, '']
  if (typeof derived === 'number') return [-1, 0]
  if (Array.isArray(derived)) return [derived, []]
  return isObject(derived) ? [derived, {}] : [derived]
}

function changesOf(value: unknown): readonly (readonly [string, unknown])[] {
  const common = [['null', null]] as const
  if (typeof value === 'string') {
    return [...common, ['a number', 7], ['empty', ''], ['huge', hugeText], ['invalid', invalidText]]
  }
  if (typeof value === 'number') {
    return [
      ...common,
      ['text', 'x'],
      ['negative', -1],
      ['zero', 0],
      ['huge', 1e20],
      ['past int32', 2 ** 31],
      ['a fraction', 1.5],
    ]
  }
  if (typeof value === 'boolean') return [...common, ['text', 'x'], ['negated', !value]]
  if (Array.isArray(value)) {
    const doubled = value.length > 0 ? ([['with a duplicate', [...value, value[0]]]] as const) : []
    return [...common, ['text', 'x'], ['an object', {}], ['empty', []], ...doubled]
  }
  if (!isObject(value)) return common
  return [
    ...common,
    ['text', 'x'],
    ['a list', []],
    ['empty', {}],
    ['with an unknown field', { ...value, unknownField: 1 }],
  ]
}

function replaced(target: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return value
  if (Array.isArray(target))
    return target.map((each, index) => (index === key ? replaced(each, rest, value) : each))
  const fields = target as Body
  return { ...fields, [key]: replaced(fields[key], rest, value) }
}

function removed(target: unknown, [key, ...rest]: Path): unknown {
  if (rest.length > 0) return replaced(target, [key!], removed((target as Body)[key!], rest))
  if (Array.isArray(target)) return target.filter((_, index) => index !== key)
  return Object.fromEntries(Object.entries(target as Body).filter(([name]) => name !== key))
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
