import { parseDocument } from 'yaml'
import { createJsonPatch } from '#/api/patch.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { put, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { readYaml } from '#/api/text/yaml.ts'
import { goJson } from '../documents/go-json.ts'
import { cloneValue, kindOf, type NodeKind } from '../documents/value.ts'
import { findSlots, lookUp, memberSlot } from '../fields/field-path.ts'
import { toKustomizeError, KustomizeError } from '../kustomize-error.ts'

interface Change {
  readonly value: JsonValue
  readonly createKind: NodeKind | undefined
}

/**
 * Sets a field within a text that is JSON or YAML, such as a file in a ConfigMap. Returns false if the path leads
 * into no such text.
 */
export function setInStructuredData(object: JsonObject, path: readonly string[], change: Change): boolean {
  for (let length = 1; length < path.length; length++) {
    const outer = path.slice(0, length)
    const text = textAt(object, outer)
    const parsed = text === undefined ? undefined : parse(text)
    if (text === undefined || parsed === undefined) continue
    const changed = changeWithin(parsed, path.slice(length), change)
    if (changed === undefined) return false
    const container = lookUp(object, outer.slice(0, -1))
    const key = outer.at(-1) ?? ''
    const result = serialize(text, parsed, changed)
    if (Array.isArray(container)) container[Number(key)] = result
    else put(container as JsonObject, key, result)
    return true
  }
  return false
}

function textAt(object: JsonObject, path: readonly string[]): string | undefined {
  try {
    const value = lookUp(object, path)
    return typeof value === 'string' && !path.at(-1)?.startsWith('[') ? value : undefined
  } catch (error) {
    if (toKustomizeError(error) instanceof KustomizeError) return undefined
    throw error
  }
}

/** Only a map or a list has fields. */
function parse(text: string): JsonValue | undefined {
  try {
    const { value, duplicateKeys } = readYaml(text)
    return kindOf(value) === 'ScalarNode' || duplicateKeys.length > 0 ? undefined : value
  } catch (error) {
    if (error instanceof DecodeError) return undefined
    throw error
  }
}

/** Returns the changed copy; undefined if there is no such field. */
function changeWithin(
  parsed: JsonValue,
  path: readonly string[],
  { value, createKind }: Change,
): JsonValue | undefined {
  const holder: JsonObject = { root: cloneValue(parsed) }
  try {
    const slots = findSlots(memberSlot(holder, 'root'), path, createKind)
    if (slots.length === 0) return undefined
    for (const slot of slots) slot.set(cloneValue(value))
    return holder['root']
  } catch (error) {
    if (toKustomizeError(error) instanceof KustomizeError) return undefined
    throw error
  }
}

/** YAML keeps its comments and the order of its fields, JSON only whether it is indented. */
function serialize(text: string, before: JsonValue, after: JsonValue): string {
  if (/^\s*[{[]/.test(text)) return goJson(after, text.includes('\n') && text.includes('  ') ? '  ' : '')
  const document = parseDocument(text)
  for (const operation of createJsonPatch(before, after)) {
    const path = operation.path
      .split('/')
      .slice(1)
      .map(name => name.replaceAll('~1', '/').replaceAll('~0', '~'))
      .map(name => (/^\d+$/.test(name) ? Number(name) : name))
    if (operation.op === 'remove') document.deleteIn(path)
    else document.setIn(path, operation.value)
  }
  return document.toString({ lineWidth: 0, indentSeq: false }).trim()
}
