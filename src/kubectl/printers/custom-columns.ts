import type { JsonValue } from '#/api/text/json-value.ts'
import { formatValue } from './go-format.ts'
import { parseJsonPathTemplate, relaxedJsonPath, type JsonPathTemplate } from './json-path-template.ts'

/** Columns of `-o custom-columns`. Cells are to be joined by tabs and aligned by a `TabWriter`. */
export class CustomColumns {
  readonly headers: readonly string[]
  readonly #paths: readonly string[]
  #templates: readonly JsonPathTemplate[] | undefined

  constructor(columns: readonly CustomColumn[]) {
    this.headers = columns.map(({ header }) => header)
    this.#paths = columns.map(({ path }) => path)
  }

  /** The cells of an object. Throws JsonPathError if a path is invalid: kubectl parses them when it prints. */
  row(object: JsonValue): readonly string[] {
    this.#templates ??= this.#paths.map(path => parseJsonPathTemplate(path, { allowMissingKeys: true }))
    return this.#templates.map(template => {
      const texts = template.matches(object).map(value => escapeTerminal(formatValue(value)))
      return texts.length === 0 ? '<none>' : texts.join(',')
    })
  }
}

export interface CustomColumn {
  readonly header: string
  readonly path: string
}

/** Reads `NAME:.metadata.name,IP:.status.podIP`. */
export function parseCustomColumns(spec: string): CustomColumns {
  if (spec === '') throw new Error('custom-columns format specified but no custom columns given')
  const columns = spec.split(',').map(part => {
    const colon = part.indexOf(':')
    if (colon === -1) {
      throw new Error(`unexpected custom-columns spec: ${part}, expected <header>:<json-path-expr>`)
    }
    return { header: part.slice(0, colon), path: relaxedJsonPath(part.slice(colon + 1)) }
  })
  return new CustomColumns(columns)
}

/** Reads a file with a line of headers and a line of paths. */
export function parseCustomColumnsFile(text: string): CustomColumns {
  const [headerLine, pathLine] = text.split('\n')
  const expected =
    'Expected format is one line of space separated headers, one line of space separated column specs.'
  if (text === '' || headerLine === undefined) {
    throw new Error(`invalid template, missing header line. ${expected}`)
  }
  if (pathLine === undefined || text.length === headerLine.length + 1) {
    throw new Error(`invalid template, missing spec line. ${expected}`)
  }
  const headers = wordsOf(headerLine)
  const paths = wordsOf(pathLine)
  if (headers.length !== paths.length) {
    throw new Error(
      `number of headers (${headers.length}) and field specifications (${paths.length}) don't match`,
    )
  }
  return new CustomColumns(
    headers.map((header, index) => ({ header, path: relaxedJsonPath(paths[index] ?? '') })),
  )
}

function wordsOf(line: string): readonly string[] {
  return line.split(/\s+/).filter(word => word !== '')
}

/** Replaces the characters with which an object could control the terminal. */
function escapeTerminal(text: string): string {
  return text.replaceAll('\u001b', '^[').replaceAll('\r', '\\r')
}
