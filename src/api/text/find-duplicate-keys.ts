/**
 * Finds duplicate keys in a JSON text. `JSON.parse` silently keeps the last one, so this scans the text
 * again, in linear time and without recursion. The text should have been parsed before: for invalid JSON the
 * result is undefined, or DecodeError is thrown.
 */
import { parseJson } from './json.ts'
import type { JsonPath } from './json-path.ts'
import { endOfString, measureJson } from './json-scan.ts'
import type { JsonValue } from './json-value.ts'

export interface DuplicateKey {
  /** The last element is the duplicate key. */
  readonly path: JsonPath
  /** Line of the second occurrence, from 1. */
  readonly line: number
}

/** Maximum number of duplicate keys reported, to bound the size of the response. */
export const duplicateKeysMax = 100

/** The first duplicate keys in text order. A key that occurs many times is reported once. */
export function findDuplicateKeys(text: string): DuplicateKey[] {
  const scanner: Scanner = { text, duplicates: [], levels: [], linesTo: 0, line: 1 }
  for (let at = 0; at < text.length && scanner.duplicates.length < duplicateKeysMax; at++) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = readString(scanner, at) - 1
    else if (code === 0x7b) scanner.levels.push(emptyMap())
    else if (code === 0x5b) scanner.levels.push({ kind: 'list', index: 0 })
    else if (code === 0x7d || code === 0x5d) scanner.levels.pop()
    else if (code === 0x2c) next(scanner.levels.at(-1))
  }
  return scanner.duplicates
}

/**
 * True if the text has duplicate keys, which is the case if the parsed value has fewer members than the text.
 * Does not compare keys.
 */
export function hasDuplicateKeys(bytes: Uint8Array, parsed: JsonValue): boolean {
  return measureJson(bytes).members !== countMembers(parsed)
}

interface Scanner {
  readonly text: string
  readonly duplicates: DuplicateKey[]
  readonly levels: Level[]
  /** Index up to which line breaks have been counted in `line`. */
  linesTo: number
  line: number
}

type Level = MapLevel | ListLevel

interface MapLevel {
  readonly kind: 'map'
  readonly seen: Set<string>
  readonly reported: Set<string>
  key: string
  /** The next string is a key, not a value. */
  atKey: boolean
}

interface ListLevel {
  readonly kind: 'list'
  index: number
}

function emptyMap(): MapLevel {
  return { kind: 'map', seen: new Set(), reported: new Set(), key: '', atKey: true }
}

function next(level: Level | undefined): void {
  if (level?.kind === 'map') level.atKey = true
  else if (level !== undefined) level.index++
}

function readString(scanner: Scanner, start: number): number {
  const end = endOfString(scanner.text, start)
  const level = scanner.levels.at(-1)
  if (level?.kind !== 'map' || !level.atKey) return end
  level.atKey = false
  level.key = readKey(scanner.text.slice(start, end))
  if (!level.seen.has(level.key)) {
    level.seen.add(level.key)
  } else if (!level.reported.has(level.key)) {
    level.reported.add(level.key)
    scanner.duplicates.push({ path: pathOf(scanner.levels), line: lineAt(scanner, start) })
  }
  return end
}

/** `"a"` and `"\u0061"` are the same key. */
function readKey(literal: string): string {
  return literal.includes('\\') ? (parseJson(literal) as string) : literal.slice(1, -1)
}

function pathOf(levels: readonly Level[]): JsonPath {
  return levels.map(level => (level.kind === 'map' ? level.key : level.index))
}

function lineAt(scanner: Scanner, index: number): number {
  for (;;) {
    const found = scanner.text.indexOf('\n', scanner.linesTo)
    if (found < 0 || found >= index) return scanner.line
    scanner.linesTo = found + 1
    scanner.line++
  }
}

function countMembers(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const each of value) members += countMembers(each)
    return members
  }
  for (const key in value) {
    const each = value[key] as JsonValue
    members += typeof each === 'object' ? 1 + countMembers(each) : 1
  }
  return members
}
