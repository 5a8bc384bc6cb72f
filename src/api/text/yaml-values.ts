/**
 * Converts the nodes of a YAML document to a JSON value in linear time: an alias references the value of its
 * anchor and is never copied, and the expanded size of all aliases is bounded (CVE-2019-11253).
 */
import { isAlias, isMap, isScalar, isSeq } from 'yaml'
import type { Alias, Node, Scalar, YAMLMap, YAMLSeq } from 'yaml'
import { DecodeError } from '../decoding/decode-error.ts'
import { depthMax, tooDeep } from './json.ts'
import type { JsonValue } from './json-value.ts'
import { isObject, put, type JsonObject } from './json-object.ts'
import { quote } from './quote.ts'
import { formatFloat, resolvePlainScalar, type YamlScalar } from './yaml-scalar.ts'

export interface YamlDuplicateKey {
  readonly key: string
  /** Counted from 1. */
  readonly line: number
}

/**
 * Maximum number of characters and nodes that aliases may add to a document: the size of the largest request.
 */
const aliasedSizeMax = 3 * 1024 * 1024

/** Maximum number of duplicate keys reported. */
const duplicateKeysMax = 100

export function convertYaml(
  contents: Node | null,
  lineOf: (offset: number) => number,
  resolveScalar: (text: string) => YamlScalar = resolvePlainScalar,
): { readonly value: JsonValue; readonly duplicateKeys: readonly YamlDuplicateKey[] } {
  const counts = { size: 0, aliasedSize: 0, deepest: 0 }
  const conversion: Conversion = { lineOf, resolveScalar, anchors: new Map(), duplicateKeys: [], ...counts }
  return { value: convert(conversion, contents, 0), duplicateKeys: conversion.duplicateKeys }
}

interface Conversion {
  readonly lineOf: (offset: number) => number
  readonly resolveScalar: (text: string) => YamlScalar
  /** Values of anchors; undefined while being converted. */
  readonly anchors: Map<string, Anchored | undefined>
  /** Characters and nodes so far, including every expansion of an alias. */
  size: number
  aliasedSize: number
  /** Maximum depth since the innermost anchor began. */
  deepest: number
  readonly duplicateKeys: YamlDuplicateKey[]
}

interface Anchored {
  readonly value: JsonValue
  readonly size: number
  /** Nesting depth of the value. */
  readonly height: number
}

function convert(conversion: Conversion, node: unknown, depth: number): JsonValue {
  conversion.size++
  if (depth > conversion.deepest) conversion.deepest = depth
  if (isAlias(node)) return follow(conversion, node, depth)
  if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null
  const convertContent = node.anchor === undefined ? convertNode : convertAnchored
  return convertContent(conversion, node, depth)
}

type Content = Scalar | YAMLMap | YAMLSeq

function convertNode(conversion: Conversion, node: Content, depth: number): JsonValue {
  if (isScalar(node)) return scalar(conversion, node)
  if (depth === depthMax) throw tooDeep(depthMax)
  if (isMap(node)) return map(conversion, node, depth)
  return node.items.map(item => convert(conversion, item, depth + 1))
}

function convertAnchored(conversion: Conversion, node: Content, depth: number): JsonValue {
  const { size: sizeBefore, deepest: deepestBefore } = conversion
  const name = node.anchor ?? ''
  conversion.anchors.set(name, undefined)
  conversion.deepest = depth
  const value = convertNode(conversion, node, depth)
  const size = 1 + conversion.size - sizeBefore
  conversion.anchors.set(name, { value, size, height: conversion.deepest - depth })
  conversion.deepest = Math.max(conversion.deepest, deepestBefore)
  return value
}

function follow(conversion: Conversion, alias: Alias, depth: number): JsonValue {
  const name = alias.source
  const target = conversion.anchors.get(name)
  if (target === undefined) {
    const shown = name.slice(0, shownCharactersMax)
    throw conversion.anchors.has(name)
      ? failure(`anchor '${shown}' value contains itself`)
      : failure(`unknown anchor '${shown}' referenced`)
  }
  conversion.size += target.size
  conversion.aliasedSize += target.size
  if (conversion.aliasedSize > aliasedSizeMax) {
    throw new DecodeError('too-large', 'yaml: document contains excessive aliasing')
  }
  if (depth + target.height > depthMax) throw tooDeep(depthMax)
  conversion.deepest = Math.max(conversion.deepest, depth + target.height)
  return target.value
}

function map(conversion: Conversion, node: YAMLMap, depth: number): JsonObject {
  const object: JsonObject = {}
  for (const { key, value } of node.items) {
    if (isMergeKey(key)) {
      merge(conversion, { object, source: value, depth })
    } else {
      const name = keyText(convert(conversion, key, depth + 1))
      set(conversion, { object, key: name, value: convert(conversion, value, depth + 1), at: value ?? key })
    }
  }
  return object
}

function set(
  conversion: Conversion,
  { object, key, value, at }: { object: JsonObject; key: string; value: JsonValue; at: unknown },
): void {
  if (Object.hasOwn(object, key) && conversion.duplicateKeys.length < duplicateKeysMax) {
    const offset = isScalar(at) || isAlias(at) || isMap(at) || isSeq(at) ? (at.range?.[0] ?? 0) : 0
    conversion.duplicateKeys.push({ key, line: conversion.lineOf(offset) })
  }
  put(object, key, value)
}

function isMergeKey(key: unknown): boolean {
  if (!isScalar(key) || key.value !== '<<') return false
  return key.tag === undefined ? key.type === 'PLAIN' : key.tag === mergeTag
}

/**
 * As in Kubernetes, a merge takes effect at the position of its key: later keys override merged ones, and
 * merged ones override earlier keys.
 */
function merge(
  conversion: Conversion,
  { object, source, depth }: { object: JsonObject; source: unknown; depth: number },
): void {
  // The first map takes precedence, so it is merged last.
  const sources = isSeq(source) ? source.items.toReversed() : [source]
  for (const each of sources) {
    const merged = convert(conversion, each, depth)
    if (!isObject(merged)) throw failure('map merge requires map or sequence of maps as the value')
    for (const key of Object.keys(merged)) {
      set(conversion, { object, key, value: merged[key] as JsonValue, at: each })
    }
  }
}

function keyText(key: JsonValue): string {
  if (typeof key === 'string') return key
  if (typeof key === 'number' && !Number.isInteger(key)) return formatFloat(key)
  if (key === null || typeof key === 'object') throw failure('a map has a key that is null, a list or a map')
  return String(key)
}

const tagPrefix = 'tag:yaml.org,2002:'
const mergeTag = `${tagPrefix}merge`
/** Tags for which a scalar is resolved like an unquoted one and must have the named type. */
const typeTags: ReadonlyMap<string, readonly string[]> = new Map([
  ['bool', ['boolean']],
  ['int', ['number', 'bigint']],
  ['float', ['number', 'bigint']],
  ['null', ['object']],
])

function scalar(conversion: Conversion, node: Scalar): YamlScalar {
  const text = String(node.value).toWellFormed()
  conversion.size += text.length
  const tag = node.tag?.startsWith(tagPrefix) ? node.tag.slice(tagPrefix.length) : node.tag
  if (tag === 'binary') return decodeBinary(text)
  if (tag === undefined ? node.type !== 'PLAIN' : !typeTags.has(tag)) return text
  const value = conversion.resolveScalar(text)
  if (tag !== undefined && !typeTags.get(tag)?.includes(typeof value)) {
    throw failure(`cannot decode ${quote(text.slice(0, shownCharactersMax))} as a !!${tag}`)
  }
  if (typeof value === 'number' && !Number.isFinite(value)) throw failure(`json: unsupported value: ${text}`)
  return value
}

/** Maximum length of a scalar or anchor in an error message. */
const shownCharactersMax = 100

function decodeBinary(text: string): string {
  const digits = text.replaceAll(/\s/g, '')
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(digits)) throw failure('!!binary value contains invalid base64 data')
  return Buffer.from(digits, 'base64').toString('utf8')
}

function failure(message: string): DecodeError {
  return new DecodeError('syntax', `yaml: ${message}`)
}
