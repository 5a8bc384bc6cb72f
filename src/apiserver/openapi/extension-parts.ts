/** Parts of the OpenAPI v2 documents of extension servers, and their names in the document of this server. */
import { isDeepStrictEqual } from 'node:util'
import type { JsonValue } from '#/api/text/json-value.ts'
import { encodeGnosticMembers, memberKinds } from './gnostic.ts'
import type { JsonSchema } from './json-schema.ts'

/** The paths of one group version, with all that they refer to. */
export interface OpenApiPart {
  readonly paths: JsonSchema
  readonly definitions: JsonSchema
  readonly parameters: JsonSchema
}

const sections = ['definitions', 'parameters'] as const

type Section = (typeof sections)[number]

/** Undefined if the document is malformed or has no paths below the prefix. */
export function openApiPart(document: JsonValue, pathPrefix: string): OpenApiPart | undefined {
  if (!isObject(document)) return undefined
  const kept = Object.entries(members(document, 'paths')).filter(([path]) => path.startsWith(pathPrefix))
  if (kept.length === 0) return undefined
  const paths = Object.fromEntries(kept)
  // Maps, because names such as `__proto__` are data.
  const found: Record<Section, Map<string, unknown>> = { definitions: new Map(), parameters: new Map() }
  const pending: unknown[] = [paths]
  // Clients reject a document with a reference that leads nowhere.
  let isComplete = true
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    forEachReference(value, (section, name) => {
      if (found[section].has(name)) return
      const named = members(document, section)
      const target = Object.hasOwn(named, name) ? named[name] : undefined
      isComplete &&= isObject(target)
      found[section].set(name, target)
      pending.push(target)
    })
  }
  const part: OpenApiPart = {
    paths,
    definitions: Object.fromEntries(found.definitions),
    parameters: Object.fromEntries(found.parameters),
  }
  return isComplete && isEncodable(part) ? part : undefined
}

/** A part that cannot be encoded would make the document of the whole server fail. */
function isEncodable(part: OpenApiPart): boolean {
  try {
    for (const kind of memberKinds) encodeGnosticMembers(kind, part[kind])
    return true
  } catch {
    return false
  }
}

/** The definition or parameter that a document has already; undefined if there is none. */
export type FindExisting = (section: Section, name: string) => unknown

/**
 * The part with names that fit a document. A definition that differs from an existing one of the same name gets
 * another name, as do those that refer to it.
 */
export function withFreeNames(part: OpenApiPart, findExisting: FindExisting): OpenApiPart {
  const renames: Renames = {
    definitions: renamed(part, 'definitions', findExisting),
    parameters: renamed(part, 'parameters', findExisting),
  }
  const withNames = (section: Section): JsonSchema => {
    const entries = Object.entries(part[section]).map(([name, value]) => {
      return [renames[section].get(name) ?? name, withReferences(value, renames)]
    })
    return Object.fromEntries(entries) as JsonSchema
  }
  return {
    paths: withReferences(part.paths, renames) as JsonSchema,
    definitions: withNames('definitions'),
    parameters: withNames('parameters'),
  }
}

type Renames = Readonly<Record<Section, ReadonlyMap<string, string>>>

/** New names, by old name. */
function renamed(
  part: OpenApiPart,
  section: Section,
  findExisting: FindExisting,
): ReadonlyMap<string, string> {
  const own = part[section]
  const exists = (name: string): boolean => findExisting(section, name) !== undefined
  const existing = new Set(Object.keys(own).filter(exists))
  const differing = new Set([...existing].filter(name => !isSame(own[name], findExisting(section, name))))
  for (let size = -1; size !== differing.size;) {
    size = differing.size
    for (const name of existing) {
      forEachReference(own[name], (to, target) => {
        if (to === section && differing.has(target)) differing.add(name)
      })
    }
  }
  const isTaken = (name: string): boolean => exists(name) || Object.hasOwn(own, name)
  return new Map(Array.from(differing, name => [name, freeName(name, isTaken)]))
}

function freeName(name: string, isTaken: (name: string) => boolean): string {
  for (let number = 2; ; number++) {
    const candidate = `${name}_v${number}`
    if (!isTaken(candidate)) return candidate
  }
}

/** The kinds that a definition is listed for depend on the server. */
function isSame(left: unknown, right: unknown): boolean {
  return isDeepStrictEqual(withoutKinds(left), withoutKinds(right))
}

function withoutKinds(value: unknown): unknown {
  if (!isObject(value)) return value
  const { 'x-kubernetes-group-version-kind': _kinds, ...rest } = value
  return rest
}

const referencePattern = /^#\/(definitions|parameters)\/(.+)$/

function forEachReference(value: unknown, visit: (section: Section, name: string) => void): void {
  if (Array.isArray(value)) for (const each of value) forEachReference(each, visit)
  if (!isObject(value)) return
  for (const [key, member] of Object.entries(value)) {
    const [, section, name] = (key === '$ref' && referencePattern.exec(String(member))) || []
    if (name !== undefined) visit(section as Section, name)
    else forEachReference(member, visit)
  }
}

function withReferences(value: unknown, renames: Renames): unknown {
  if (Array.isArray(value)) return value.map(each => withReferences(each, renames))
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, member]) => {
    const [, section, name] = (key === '$ref' && referencePattern.exec(String(member))) || []
    const next = name === undefined ? undefined : renames[section as Section].get(name)
    if (next !== undefined) return [key, `#/${section}/${next}`]
    return [key, withReferences(member, renames)]
  })
  return Object.fromEntries(entries) as JsonSchema
}

function members(document: JsonSchema, section: string): JsonSchema {
  const value = document[section]
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
