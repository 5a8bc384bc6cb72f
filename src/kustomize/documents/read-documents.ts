import { DecodeError } from '#/api/decoding/decode-error.ts'
import { get, isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { readYamlDocuments } from '#/api/text/yaml.ts'
import { KustomizeError } from '../kustomize-error.ts'
import { cloneValue, resolveScalar, textOf } from './value.ts'

/** Maximum number of objects in a file, with the items of its lists. */
const objectsMax = 100_000

/**
 * The objects of a file with resources or patches. Lists are replaced by their items, which follow the other
 * objects. No two objects share a part, so that they can be changed.
 */
export function readObjects(input: Uint8Array | string): JsonObject[] {
  const text = typeof input === 'string' ? input : Buffer.from(input).toString('utf8')
  checkSeparators(text)
  const pending: JsonObject[] = []
  for (const value of parseDocuments(text)) {
    const object = validObject(value)
    if (object !== undefined) pending.push(object)
  }
  const objects: JsonObject[] = []
  for (let at = 0; at < pending.length; at++) {
    if (pending.length > objectsMax) throw new KustomizeError(`more than ${objectsMax} objects in a file`)
    const object = pending[at] ?? {}
    const items = textOf(get(object, 'kind')).endsWith('List') ? get(object, 'items') : undefined
    if (items === undefined) objects.push(cloneValue(object))
    else for (const item of itemsOf(object, items)) pending.push(item)
  }
  return objects
}

function* parseDocuments(text: string): Generator<JsonValue> {
  try {
    for (const { value, duplicateKeys } of readYamlDocuments(text, { resolveScalar })) {
      for (const { key, line } of duplicateKeys) {
        const problem = `line ${line}: mapping key "${key}" already defined`
        throw new KustomizeError(`yaml: unmarshal errors:\n  ${problem}`)
      }
      yield value
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new MalformedYamlError(`MalformedYAMLError: ${error.message}`, { cause: error })
  }
}

/** The text is not YAML; a path that names such a file is certainly no folder. */
export class MalformedYamlError extends KustomizeError {}

function checkSeparators(text: string): void {
  for (const [line, rest = ''] of text.matchAll(/\r?\n---(.*)\r?\n/g)) {
    const content = rest.trim()
    if (content !== '' && !content.startsWith('#')) {
      throw new KustomizeError(`invalid document separator: ${line.trim()}`)
    }
  }
}

function itemsOf(list: JsonObject, items: JsonValue): JsonObject[] {
  if (items === null) return []
  if (!Array.isArray(items)) {
    const found = isObject(items) ? 'map[string]interface {}' : goTypeOf(items)
    throw new KustomizeError(`expected array in ${textOf(get(list, 'kind'))}/items, but found ${found}`)
  }
  return items.map(item => validObject(item)).filter(item => item !== undefined)
}

function goTypeOf(scalar: JsonValue): string {
  if (typeof scalar === 'boolean') return 'bool'
  if (typeof scalar === 'string') return 'string'
  return Number.isInteger(scalar) ? 'int' : 'float64'
}

/** Returns undefined for an empty document. */
function validObject(value: JsonValue): JsonObject | undefined {
  if (value === null || value === '') return undefined
  if (!isObject(value)) {
    if (Array.isArray(value) && value.length === 0) return undefined
    throw new KustomizeError('missing Resource metadata')
  }
  if (Object.keys(value).length === 0) return undefined
  validateMetadata(value)
  return value
}

export function validateMetadata(object: JsonObject, annotations?: ReadonlyMap<string, string>): void {
  const metadata = get(object, 'metadata')
  const kind = textOf(get(object, 'kind'))
  const name = isObject(metadata) ? textOf(get(metadata, 'name')) : ''
  const isMissing =
    ['apiVersion', 'kind'].every(key => textOf(get(object, key)) === '') && !isObject(metadata)
  if (isMissing) throw new KustomizeError('missing Resource metadata')
  if (kind === '') throw new KustomizeError(`missing kind in object ${show(object, annotations)}`)
  if (name === '' && !kind.endsWith('List')) {
    throw new KustomizeError(`missing metadata.name in object ${show(object, annotations)}`)
  }
}

function show(object: JsonObject, annotations?: ReadonlyMap<string, string>): string {
  const metadata = get(object, 'metadata')
  const text = (key: string) => (isObject(metadata) ? textOf(get(metadata, key)) : '')
  const map = (key: string, more: Iterable<readonly [string, string]> = []) => {
    const found = isObject(metadata) ? get(metadata, key) : undefined
    const members = isObject(found) ? Object.entries(found).map(([name, value]) => [name, textOf(value)]) : []
    return [...members, ...more]
      .map(([name, value]) => `${name}:${value}`)
      .sort()
      .join(' ')
  }
  const [version, kind] = [textOf(get(object, 'apiVersion')), textOf(get(object, 'kind'))]
  const names = `{${text('name')} ${text('namespace')}}`
  return `{{${version} ${kind}} {${names} map[${map('labels')}] map[${map('annotations', annotations)}]}}`
}
