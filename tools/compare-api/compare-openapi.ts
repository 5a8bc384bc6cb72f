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
  const [mine, others] = [normalize(ours), normalize(theirs)]
  return compareValues(mine, others).filter(
    ({ place, ours }) => isWhole || ours !== undefined || !/^\/(?:paths|definitions)\//.test(place),
  )
}

function normalize(document: Json): unknown {
  const { parameters, ...rest } = document
  return walk(rest, (parameters ?? {}) as Json)
}

/**
 * Normalizes a document: shared parameters, which are named by a hash, are inlined; the order of `required`
 * is ignored; CBOR, an experiment of 1.36, is removed; and a reference wrapped to carry a default is
 * unwrapped.
 */
function walk(value: unknown, parameters: Json): unknown {
  if (Array.isArray(value)) {
    const kept = value.filter(each => !(typeof each === 'string' && isCbor(each)))
    return kept.map(each => walk(each, parameters))
  }
  if (typeof value !== 'object' || value === null) return value
  const { $ref, allOf, ...rest } = value as Json
  if (typeof $ref === 'string' && $ref.startsWith('#/parameters/')) {
    return { isShared: true, ...(parameters[$ref.slice('#/parameters/'.length)] as Json) }
  }
  const target = Array.isArray(allOf) && allOf.length === 1 ? (allOf[0] as Json) : undefined
  const entries = Object.entries({ ...rest, ...(typeof $ref === 'string' && { $ref }), ...target })
  return Object.fromEntries(
    entries
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
