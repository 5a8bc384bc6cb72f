/**
 * YAML to the values of JSON, as Kubernetes reads it: scalars by the rules of `yaml-scalar.ts`, merge keys,
 * keys that are no strings turned into strings, JSON accepted as the YAML that it is. The syntax is the
 * business of the package `yaml`. That costs over a microsecond for each token whatever the input, so tokens
 * are bounded as well as bytes: what a hostile text can cost is a few hundred milliseconds. Aliases share
 * what they stand for; what they would add up to is bounded.
 */
import { isUtf8 } from 'node:buffer'
import { Composer, Lexer, LineCounter, Parser, type CST, type Document } from 'yaml'
import { DecodeError } from './decode-error.ts'
import { findDuplicateKeys, hasDuplicateKeys } from './find-duplicate-keys.ts'
import { parseJson, readText, tooDeep, type ParseOptions } from './json.ts'
import type { JsonValue } from './json-value.ts'
import { convertYaml, type YamlDuplicateKey } from './yaml-values.ts'

export interface YamlDocument {
  readonly value: JsonValue
  /** Keys that came twice in one map, in the order of the text. The last value counts. */
  readonly duplicateKeys: readonly YamlDuplicateKey[]
}

/**
 * Tokens of one document, every line of a scalar counted as one: about two and a half megabytes of ordinary
 * manifests, or 100 kB of nothing but punctuation.
 */
export const yamlTokensMax = 200_000

/**
 * Levels of a document that is not JSON. The package recurses, several calls to a level, on whatever stack is
 * left.
 */
export const yamlDepthMax = 250

/** Directives before a document; real ones have at most two, `%YAML` and `%TAG`. */
const directivesMax = 16

/**
 * The first document of a text, null when there is none. What follows it does not count, as in Kubernetes.
 */
export function parseYaml(input: Uint8Array | string, options: ParseOptions = {}): JsonValue {
  return readYaml(input, options).value
}

/** As `parseYaml`, and says which keys came twice. */
export function readYaml(input: Uint8Array | string, options: ParseOptions = {}): YamlDocument {
  for (const document of readDocuments(readUtf8(input, options.maxBytes))) return document
  return { value: null, duplicateKeys: [] }
}

/**
 * Every document of a text, read as they are asked for; the empty ones are left out. Each has the full
 * bounds.
 */
export function* readYamlDocuments(
  input: Uint8Array | string,
  options: ParseOptions = {},
): Generator<YamlDocument, void, undefined> {
  for (const document of readDocuments(readUtf8(input, options.maxBytes))) {
    if (document.value !== null) yield document
  }
}

/** What JSON replaces, YAML refuses: bytes that are no text. */
function readUtf8(input: Uint8Array | string, maxBytes: number | undefined): string {
  const text = readText(input, maxBytes)
  if (typeof input !== 'string' && !isUtf8(input)) throw syntaxError('invalid leading UTF-8 octet')
  return text
}

function* readDocuments(text: string): Generator<YamlDocument, void, undefined> {
  const json = readAsJson(text)
  if (json !== undefined) {
    yield json
    return
  }
  const lines = new LineCounter()
  for (const document of composeDocuments(text, lines)) {
    const error = document.errors[0]
    if (error !== undefined) throw syntaxError(`line ${lines.linePos(error.pos[0]).line}: ${error.message}`)
    yield convertYaml(document.contents, offset => lines.linePos(offset).line)
  }
}

function readAsJson(text: string): YamlDocument | undefined {
  if (!/^[ \t\r\n]*[{[]/.test(text)) return undefined
  try {
    const value = parseJson(text)
    return { value, duplicateKeys: hasDuplicateKeys(Buffer.from(text), value) ? duplicateKeysOf(text) : [] }
  } catch (error) {
    // YAML has brackets of its own, which are no JSON: `{a: b}`.
    if (error instanceof DecodeError && error.reason === 'syntax') return undefined
    throw error
  }
}

function duplicateKeysOf(text: string): YamlDuplicateKey[] {
  return findDuplicateKeys(text).map(({ path, line }) => ({ key: String(path.at(-1)), line }))
}

/**
 * The failsafe schema makes everything a string, and all checks that go through a map once for each of its
 * keys are off: meaning and duplicates are looked at afterwards, in linear time.
 */
const composerOptions = {
  schema: 'failsafe',
  uniqueKeys: false,
  merge: false,
  resolveKnownTags: false,
  strict: false,
  prettyErrors: false,
  logLevel: 'silent',
} as const

function* composeDocuments(text: string, lines: LineCounter): Generator<Document.Parsed, void, undefined> {
  const parser = new Parser(lines.addNewLine)
  const composer = new Composer(composerOptions)
  lines.addNewLine(0)
  let tokens = 0
  let directives = 0
  try {
    for (const source of new Lexer().lex(text)) {
      tokens += 1 + countLines(source)
      if (tokens > yamlTokensMax) throw tooLarge(`${yamlTokensMax} tokens`)
      for (const token of parser.next(source)) {
        if (token.type === 'directive') directives++
        if (directives > directivesMax) throw tooLarge(`${directivesMax} directives`)
        refuseError(token, lines)
        for (const document of composer.next(token)) {
          tokens = 0
          directives = 0
          yield document
        }
      }
      if (parser.stack.length > yamlDepthMax) throw tooDeep(yamlDepthMax)
    }
    for (const token of parser.end()) {
      refuseError(token, lines)
      yield* composer.next(token)
    }
    yield* composer.end()
  } catch (error) {
    // Whatever the package throws, the text is at fault.
    throw error instanceof DecodeError ? error : syntaxError(String(error), { cause: error })
  }
}

/** Lines of a scalar after the first; no other token has any. */
function countLines(source: string): number {
  if (source.length === 1) return 0
  let lines = 0
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) lines++
  return lines
}

/** The composer would collect these errors, and a text can have one for every character. */
function refuseError(token: CST.Token, lines: LineCounter): void {
  if (token.type === 'error') throw syntaxError(`line ${lines.linePos(token.offset).line}: ${token.message}`)
}

/** Characters of the package's messages that are passed on; some of them quote the text. */
const shownCharactersMax = 1_000

function tooLarge(limit: string): DecodeError {
  return new DecodeError('too-large', `yaml: limit is ${limit}`)
}

function syntaxError(message: string, options?: ErrorOptions): DecodeError {
  return new DecodeError('syntax', `yaml: ${message.slice(0, shownCharactersMax)}`, options)
}
