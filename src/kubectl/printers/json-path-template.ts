import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { formatJson, formatSyntax, formatValue, GoNumber, type GoValue } from './go-format.ts'
import { JsonPathError } from './json-path/json-path-error.ts'
import { JsonPathRun, type Matches } from './json-path/json-path-run.ts'
import { parseJsonPath } from './json-path/parse-json-path.ts'

/** A text with JSONPath expressions in braces: `{range .items[*]}{.metadata.name}{"\n"}{end}`. */
export interface JsonPathTemplate {
  /** The text. Throws JsonPathError, whose message shows the template and the object. */
  execute(data: JsonValue): string
  /** The matches of each expression as a list in JSON, for `-o jsonpath-as-json`. */
  executeAsJson(data: JsonValue): string
  /** All matches of the expressions. Throws JsonPathError with nothing but the reason. */
  matches(data: JsonValue): readonly GoValue[]
}

export interface JsonPathOptions {
  /** Without, a missing member is an error. */
  readonly allowMissingKeys: boolean
}

/** Throws JsonPathError with nothing but the reason. */
export function parseJsonPathTemplate(text: string, { allowMissingKeys }: JsonPathOptions): JsonPathTemplate {
  const nodes = parseJsonPath(text)
  const find = (data: JsonValue) => new JsonPathRun({ nodes, allowMissingKeys }).find(data)
  const executeWith = (data: JsonValue, print: (matches: Matches) => string): string => {
    try {
      return find(data).map(print).join('')
    } catch (error) {
      throw error instanceof JsonPathError ? executionError({ text, error, data }) : error
    }
  }
  return {
    execute: data => executeWith(data, matches => matches.map(printMatch).join(' ')),
    executeAsJson: data => executeWith(data, matches => `${formatJson(matches.map(toJson), '    ')}\n`),
    matches: data => find(data).flat(),
  }
}

/** Adds braces and a leading point where they are missing: `metadata.name` is `{.metadata.name}`. */
export function relaxedJsonPath(path: string): string {
  if (path === '') return path
  const match = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(path)
  if (match !== null) return `{.${match[1] ?? match[2]}}`
  throw new JsonPathError(
    "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
  )
}

function printMatch(value: GoValue): string {
  if (value === undefined) return '<no value>'
  if (value === null) return 'null'
  return typeof value === 'object' && !(value instanceof GoNumber) ? formatJson(value) : formatValue(value)
}

function toJson(value: GoValue): JsonValue {
  return value instanceof GoNumber ? value.value : (value ?? null)
}

interface Failure {
  readonly text: string
  readonly error: JsonPathError
  readonly data: JsonValue
}

function executionError({ text, error, data }: Failure): JsonPathError {
  return new JsonPathError(
    `error executing jsonpath ${quote(text)}: Error executing template: ${error.message}. ` +
      'Printing more information for debugging the template:\n' +
      `\ttemplate was:\n\t\t${text}\n` +
      `\tobject given to jsonpath engine was:\n\t\t${formatSyntax(data)}\n\n\n`,
  )
}
