import { metaDefinition } from './definition-names.ts'
import { reference, version2, type JsonSchema } from './json-schema.ts'

/**
 * Parameters that many operations take, written once. Each is called after its name and a hash of its text,
 * by the same rule as in Kubernetes, so that the names do not depend on what else is served.
 */
export class SharedParameters {
  readonly #written = new Map<string, { readonly name: string; readonly parameter: JsonSchema }>()

  /** The parameter itself, or a reference to it. */
  write(parameter: JsonSchema): JsonSchema {
    if (!isShared(parameter)) return parameter
    const text = JSON.stringify(parameter)
    const known = this.#written.get(text)
    const name = known?.name ?? `${String(parameter['name'])}-${hash(text)}`
    if (!known) this.#written.set(text, { name, parameter })
    return { $ref: `#/parameters/${name}` }
  }

  /** By name, those that were written. */
  definitions(): Readonly<Record<string, JsonSchema>> {
    const entries = [...this.#written.values()].map(({ name, parameter }) => [name, parameter] as const)
    return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)))
  }
}

/** Older clients look into operations for these two to learn what the server can do. */
const neverShared: ReadonlySet<unknown> = new Set(['dryRun', 'fieldValidation'])

/** Names speak of one kind, and so do most bodies. */
function isShared({ name, in: place, schema }: JsonSchema): boolean {
  if (place !== 'body') return name !== 'name' && !neverShared.has(name)
  const text = JSON.stringify(schema)
  return genericBodies.some(each => text === JSON.stringify(reference(version2, metaDefinition(each))))
}

const genericBodies = ['DeleteOptions', 'Patch']

const fnvPrime = 0x100000001b3n
const fnvStart = 0xcbf29ce484222325n

/** The first six bytes of a 64-bit FNV-1 hash, in eight characters. */
function hash(text: string): string {
  let value = fnvStart
  for (const byte of Buffer.from(escapeForHtml(text))) {
    value = BigInt.asUintN(64, value * fnvPrime) ^ BigInt(byte)
  }
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes.subarray(0, 6).toString('base64url')
}

/** As Go writes JSON, which is the text that is hashed. */
function escapeForHtml(text: string): string {
  return text.replaceAll('&', '\\u0026').replaceAll('<', '\\u003c').replaceAll('>', '\\u003e')
}
