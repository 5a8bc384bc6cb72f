import { metaDefinition } from './definition-names.ts'
import { reference, version2, type JsonSchema } from './json-schema.ts'

/**
 * Shared parameters of OpenAPI v2. The name consists of the parameter's name and a hash of its JSON, computed
 * as in Kubernetes, so that names do not depend on what else is served.
 */
export class SharedParameters {
  readonly #written = new Map<string, { readonly name: string; readonly parameter: JsonSchema }>()

  /** Returns the parameter, or a reference to it if it is shared. */
  write(parameter: JsonSchema): JsonSchema {
    if (!isShared(parameter)) return parameter
    const text = JSON.stringify(parameter)
    const known = this.#written.get(text)
    const name = known?.name ?? `${String(parameter['name'])}-${hashOf(text)}`
    if (!known) this.#written.set(text, { name, parameter })
    return { $ref: `#/parameters/${name}` }
  }

  /** The shared parameters, sorted by name. */
  definitions(): Readonly<Record<string, JsonSchema>> {
    const entries = [...this.#written.values()].map(({ name, parameter }) => [name, parameter] as const)
    return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)))
  }
}

/** Old clients look for these two in the operations to detect support. */
const neverShared: ReadonlySet<unknown> = new Set(['dryRun', 'fieldValidation'])

/** `name` parameters and most bodies are specific to a kind. */
function isShared({ name, in: place, schema }: JsonSchema): boolean {
  if (place !== 'body') return name !== 'name' && !neverShared.has(name)
  const text = JSON.stringify(schema)
  return genericBodies.some(each => text === JSON.stringify(reference(version2, metaDefinition(each))))
}

const genericBodies = ['DeleteOptions', 'Patch']

/** Computed once: the shared parameters of all resources are the same few. */
function hashOf(text: string): string {
  return hashes.getOrInsertComputed(text, hash)
}

const hashes = new Map<string, string>()

const fnvPrime = 0x100000001b3n
const fnvStart = 0xcbf29ce484222325n

/** The first six bytes of the 64-bit FNV-1 hash, base64url-encoded. */
function hash(text: string): string {
  let value = fnvStart
  for (const byte of Buffer.from(escapeForHtml(text))) {
    value = BigInt.asUintN(64, value * fnvPrime) ^ BigInt(byte)
  }
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes.subarray(0, 6).toString('base64url')
}

/** Escapes like Go's JSON encoder, because the hash is computed on its output. */
function escapeForHtml(text: string): string {
  return text.replaceAll('&', '\\u0026').replaceAll('<', '\\u003c').replaceAll('>', '\\u003e')
}
