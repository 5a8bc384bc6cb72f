/** Compares OpenAPI documents with those of a real API server. */
import { compareValues, type Difference } from './compare-values.ts'

export type Json = Readonly<Record<string, unknown>>

/** The descriptions of all types of a document. */
export function typeTexts(document: Json): ReadonlySet<unknown> {
  const { definitions, components } = document
  const types = definitions ?? (components as Json | undefined)?.['schemas'] ?? {}
  return new Set(Object.values(types as Json).map(each => (each as Json)['description']))
}

/** Disabled versions are not reported as missing, unless `isWhole`. */
export function compareOpenApi(
  ours: Json,
  theirs: Json,
  { isWhole }: { readonly isWhole: boolean },
): readonly Difference[] {
  const others = normalize(theirs)
  const mine = normalize(hasEnums(theirs) ? ours : withoutEnums(ours))
  return compareValues(mine, others).filter(
    ({ place, ours }) => isWhole || ours !== undefined || !/^\/(?:paths|definitions)\//.test(place),
  )
}

/** The documents in a checkout of Kubernetes have no enumerations, those of a server have. */
function hasEnums(document: Json): boolean {
  return JSON.stringify(document).includes('"enum":[')
}

function withoutEnums(document: Json): Json {
  return JSON.parse(JSON.stringify(document), (key, value: unknown) => {
    if (key === 'enum' && Array.isArray(value)) return undefined
    return key === 'description' && typeof value === 'string'
      ? value.replace(/\n\nPossible enum values:\n[^]*/, '')
      : value
  }) as Json
}

function normalize(document: Json): unknown {
  const { parameters, ...rest } = document
  return walk(rest, (parameters ?? {}) as Json)
}

/**
 * Normalizes a document: shared parameters, which are named by a hash, are inlined; the order of `required`
 * is ignored; and CBOR, an experiment of 1.36, is removed.
 */
function walk(value: unknown, parameters: Json): unknown {
  if (Array.isArray(value)) {
    const kept = value.filter(each => !(typeof each === 'string' && isCbor(each)))
    return kept.map(each => walk(each, parameters))
  }
  if (typeof value !== 'object' || value === null) return value
  const { $ref } = value as Json
  if (typeof $ref === 'string' && $ref.startsWith('#/parameters/')) {
    return { isShared: true, ...(parameters[$ref.slice('#/parameters/'.length)] as Json) }
  }
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !isCbor(key))
      .map(([key, each]) => [
        key,
        key === 'required' && Array.isArray(each) ? each.map(String).sort() : walk(each, parameters),
      ]),
  )
}

function isCbor(text: string): boolean {
  return /^application\/(?:apply-patch\+)?cbor/.test(text)
}
