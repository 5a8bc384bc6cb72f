import { depthMax, get, isObject, put, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { resolvePlainScalar, type YamlScalar } from '#/api/text/yaml-scalar.ts'
import { KustomizeError } from '../kustomize-error.ts'

/** Throws for values that patches have nested deeper than any document. */
export function cloneValue<T extends JsonValue>(value: T, depth?: number): T
export function cloneValue(value: JsonValue, depth = 0): JsonValue {
  if (typeof value !== 'object' || value === null) return value
  checkDepth(depth)
  if (Array.isArray(value)) return value.map(item => cloneValue(item, depth + 1))
  const copy: JsonObject = {}
  for (const key of Object.keys(value)) put(copy, key, cloneValue(get(value, key) ?? null, depth + 1))
  return copy
}

function checkDepth(depth: number): void {
  if (depth > depthMax) throw new KustomizeError(`a resource is nested more than ${depthMax} levels deep`)
}

/** A scalar as it is written in YAML; empty for null, lists and maps. */
export function textOf(value: JsonValue | undefined): string {
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value)
}

/** What a node costs in memory and time, in characters of a text. */
const nodeCharacters = 20

/** The size of a value in characters, with an estimate for nodes. */
export function sizeOf(value: JsonValue, depth = 0): number {
  if (typeof value === 'string') return nodeCharacters + value.length
  if (typeof value !== 'object' || value === null) return nodeCharacters
  checkDepth(depth)
  let size = nodeCharacters
  if (Array.isArray(value)) for (const item of value) size += sizeOf(item, depth + 1)
  else for (const [key, member] of Object.entries(value)) size += key.length + sizeOf(member, depth + 1)
  return size
}

export function isEmptyValue(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** Returns the map at a key, created if it is missing or null. */
export function ensureMap(object: JsonObject, key: string): JsonObject {
  const found = get(object, key) ?? null
  if (isObject(found)) return found
  if (found !== null) throw wrongKind('MappingNode', found)
  const made: JsonObject = {}
  put(object, key, made)
  return made
}

export type NodeKind = 'MappingNode' | 'SequenceNode' | 'ScalarNode'

export function kindOf(value: JsonValue): NodeKind {
  if (Array.isArray(value)) return 'SequenceNode'
  return isObject(value) ? 'MappingNode' : 'ScalarNode'
}

export function wrongKind(expected: NodeKind, value: JsonValue): KustomizeError {
  const shown = stringifyYaml(value).slice(0, shownCharactersMax)
  const found = kindOf(value)
  return new KustomizeError(
    `wrong node kind: expected ${expected} but got ${found}: node contents:\n${shown}`,
  )
}

const shownCharactersMax = 2_000

/**
 * The value of an unquoted scalar in a resource. Unlike in the API, `yes` and `on` are strings and a date is a
 * timestamp.
 */
export function resolveScalar(text: string): YamlScalar {
  const value = resolvePlainScalar(text)
  if (typeof value === 'boolean') return /^(?:true|True|TRUE|false|False|FALSE)$/.test(text) ? value : text
  return typeof value === 'string' ? (readTimestamp(text) ?? value) : value
}

const zonedTime = String.raw`[Tt](\d\d?):(\d\d?):(\d\d?)(\.\d{1,9})?(Z|[-+]\d\d:\d\d)`
const plainTime = String.raw` (\d\d?):(\d\d?):(\d\d?)(\.\d{1,9})?`
const timestamp = new RegExp(String.raw`^(\d{4})-(\d\d?)-(\d\d?)(?:(?:${zonedTime})|${plainTime})?$`)

function readTimestamp(text: string): string | undefined {
  const match = timestamp.exec(text)
  if (match === null) return undefined
  const [year = '', month = '', day = ''] = match.slice(1)
  const [hour = '0', minute = '0', second = '0'] = match[4] === undefined ? match.slice(9) : match.slice(4)
  const fraction = (match[7] ?? match[12] ?? '').replace(/\.?0*$/, '')
  const two = (number: string) => number.padStart(2, '0')
  const time = `${year}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}`
  const parsed = new Date(`${time}Z`)
  const isDate = !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(time)
  return isDate ? `${time}${fraction}${match[8] ?? 'Z'}` : undefined
}

export function compareText(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0
}
