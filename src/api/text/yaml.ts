/**
 * Parses YAML to JSON values as Kubernetes does: scalars by the rules of `yaml-scalar.ts`, merge keys,
 * non-string keys converted to strings, JSON accepted as YAML. Syntax is parsed by the package `yaml`, which
 * takes more than a microsecond per token, so tokens are bounded in addition to bytes: a malicious text costs
 * at most a few hundred milliseconds. Aliases share their value, and their expanded size is bounded.
 */
import { isUtf8 } from 'node:buffer'
import { Composer, Lexer, LineCounter, Parser, type CST, type Document } from 'yaml'
import { DecodeError } from '../decoding/decode-error.ts'
import { findDuplicateKeys, hasDuplicateKeys } from './find-duplicate-keys.ts'
import { parseJson, readText, tooDeep, type ParseOptions } from './json.ts'
import type { JsonValue } from './json-value.ts'
import { parsePlainYaml } from './plain-yaml.ts'
import type { YamlScalar } from './yaml-scalar.ts'
import { convertYaml, type YamlDuplicateKey } from './yaml-values.ts'

export interface YamlOptions extends ParseOptions {
  /** The value of an unquoted scalar, if not by the rules of Kubernetes. */
  readonly resolveScalar?: (text: string) => YamlScalar
}

export interface YamlDocument {
  readonly value: JsonValue
  /** Duplicate keys in text order. The last value wins. */
  readonly duplicateKeys: readonly YamlDuplicateKey[]
}

/**
 * Maximum number of tokens in a document, counting every line of a scalar: about 2.5 MB of ordinary
 * manifests, or 100 kB of punctuation.
 */
export const yamlTokensMax = 200_000

/**
 * Maximum nesting of a document that is not JSON. The package recurses, with several calls per level, on the
 * remaining stack.
 */
export const yamlDepthMax = 250

/** Maximum number of directives before a document; real ones have at most two, `%YAML` and `%TAG`. */
const directivesMax = 16

/** The first document of a text, null if there is none. As in Kubernetes, the rest is ignored. */
export function parseYaml(input: Uint8Array | string, options: ParseOptions = {}): JsonValue {
  return readYaml(input, options).value
}

/** Like `parseYaml`, and also reports duplicate keys. */
export function readYaml(input: Uint8Array | string, options: ParseOptions = {}): YamlDocument {
  for (const document of readDocuments(readUtf8(input, options.maxBytes))) return document
  return { value: null, duplicateKeys: [] }
}

/** Yields every non-empty document lazily. The limits apply to each document separately. */
export function* readYamlDocuments(
  input: Uint8Array | string,
  options: YamlOptions = {},
): Generator<YamlDocument, void, undefined> {
  for (const document of readDocuments(readUtf8(input, options.maxBytes), options.resolveScalar)) {
    if (document.value !== null) yield document
  }
}

/** Unlike JSON, invalid UTF-8 is rejected. */
function readUtf8(input: Uint8Array | string, maxBytes: number | undefined): string {
  const text = readText(input, maxBytes)
  if (typeof input !== 'string' && !isUtf8(input)) throw syntaxError('invalid leading UTF-8 octet')
  return text
}

function* readDocuments(
  text: string,
  resolveScalar?: YamlOptions['resolveScalar'],
): Generator<YamlDocument, void, undefined> {
  const json = readAsJson(text)
  if (json !== undefined) {
    yield json
    return
  }
  const plain = resolveScalar === undefined ? parsePlainYaml(text) : undefined
  if (plain === undefined) yield* readYamlDocumentsCompletely(text, resolveScalar)
  else yield* plain.map(value => ({ value, duplicateKeys: [] }))
}

/** Without the fast path for plain texts. Yields null for an empty document. */
export function* readYamlDocumentsCompletely(
  text: string,
  resolveScalar?: YamlOptions['resolveScalar'],
): Generator<YamlDocument, void, undefined> {
  const lines = new LineCounter()
  for (const document of composeDocuments(text, lines)) {
    const error = document.errors[0]
    if (error !== undefined) throw syntaxError(`line ${lines.linePos(error.pos[0]).line}: ${error.message}`)
    yield convertYaml(document.contents, offset => lines.linePos(offset).line, resolveScalar)
  }
}

function readAsJson(text: string): YamlDocument | undefined {
  if (!/^[ \t\r\n]*[{[]/.test(text)) return undefined
  try {
    const value = parseJson(text)
    return { value, duplicateKeys: hasDuplicateKeys(Buffer.from(text), value) ? duplicateKeysOf(text) : [] }
  } catch (error) {
    // YAML flow collections such as `{a: b}` are not JSON.
    if (error instanceof DecodeError && error.reason === 'syntax') return undefined
    throw error
  }
}

function duplicateKeysOf(text: string): YamlDuplicateKey[] {
  return findDuplicateKeys(text).map(({ path, line }) => ({ key: String(path.at(-1)), line }))
}

/**
 * The failsafe schema turns every scalar into a string, and checks with quadratic cost per map are off: types
 * and duplicates are handled afterwards, in linear time.
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
    // Every exception of the package is a syntax error in the text.
    throw error instanceof DecodeError ? error : syntaxError(String(error), { cause: error })
  }
}

/** Number of further lines of a scalar; other tokens have a single line. */
function countLines(source: string): number {
  if (source.length === 1) return 0
  let lines = 0
  for (let at = source.indexOf('\n'); at >= 0; at = source.indexOf('\n', at + 1)) lines++
  return lines
}

/** The composer would collect these errors, and a text can have one per character. */
function refuseError(token: CST.Token, lines: LineCounter): void {
  if (token.type === 'error') throw syntaxError(`line ${lines.linePos(token.offset).line}: ${token.message}`)
}

/** Maximum length of the package's messages that is returned; some of them quote the text. */
const shownCharactersMax = 1_000

function tooLarge(limit: string): DecodeError {
  return new DecodeError('too-large', `yaml: limit is ${limit}`)
}

function syntaxError(message: string, options?: ErrorOptions): DecodeError {
  return new DecodeError('syntax', `yaml: ${message.slice(0, shownCharactersMax)}`, options)
}
