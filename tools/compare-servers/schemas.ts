/** The schemas of a server's OpenAPI v3 documents, by kind. */
import type { Body } from './request.ts'

export interface Schema {
  readonly '$ref'?: string
  readonly 'allOf'?: readonly Schema[]
  readonly 'oneOf'?: readonly Schema[]
  readonly 'type'?: string
  readonly 'format'?: string
  readonly 'properties'?: Readonly<Record<string, Schema>>
  readonly 'items'?: Schema
  readonly 'additionalProperties'?: Schema | boolean
  readonly 'required'?: readonly string[]
  readonly 'enum'?: readonly unknown[]
  readonly 'x-kubernetes-group-version-kind'?: readonly Kind[]
}

interface Kind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

/** A schema without references, and the name under which it is shared. */
export interface ResolvedSchema {
  readonly name: string
  readonly schema: Schema
}

/** Deeper objects are left out of derived bodies; schemas may contain themselves. */
const derivedDepthMax = 8

export class Schemas {
  readonly #named = new Map<string, Schema>()
  readonly #kinds = new Map<string, Schema>()

  constructor(documents: readonly unknown[]) {
    for (const { components } of documents as readonly Document[]) {
      for (const [name, schema] of Object.entries(components?.schemas ?? {})) {
        this.#named.set(name, schema)
        for (const kind of schema['x-kubernetes-group-version-kind'] ?? []) {
          this.#kinds.set(keyOf(kind), schema)
        }
      }
    }
  }

  ofKind(kind: Kind): Schema | undefined {
    return this.#kinds.get(keyOf(kind))
  }

  resolve(schema: Schema): ResolvedSchema {
    const reference = schema.$ref ?? schema.allOf?.[0]?.$ref
    if (reference === undefined) return { name: '', schema }
    const name = reference.slice(reference.lastIndexOf('/') + 1)
    return { name, schema: this.#named.get(name) ?? {} }
  }

  /** The smallest value that has everything the schema requires. */
  derive(schema: Schema, depth = 0): unknown {
    const { name, schema: resolved } = this.resolve(schema)
    if (resolved.enum?.[0] !== undefined) return resolved.enum[0]
    if (name.endsWith('.Time') || resolved.format === 'date-time') return '2001-01-01T00:00:00Z'
    if (name.endsWith('.Quantity')) return '1'
    switch (resolved.type ?? (resolved.oneOf ? 'integer' : 'object')) {
      case 'string':
        return resolved.format === 'byte' ? 'AAAA' : 'x'
      case 'integer':
      case 'number':
        return 1
      case 'boolean':
        return true
      case 'array':
        return depth < derivedDepthMax && resolved.items ? [this.derive(resolved.items, depth + 1)] : []
      default:
        return this.#deriveObject(resolved, depth)
    }
  }

  #deriveObject({ required = [], properties = {} }: Schema, depth: number): Body {
    const names = depth < derivedDepthMax ? required.filter(name => properties[name] !== undefined) : []
    return Object.fromEntries(names.map(name => [name, this.derive(properties[name]!, depth + 1)]))
  }
}

function keyOf({ group, version, kind }: Kind): string {
  return `${group}/${version}/${kind}`
}
