/** Where something is in a document: keys, and indexes of lists. */
export type YamlPath = readonly (string | number)[]

export interface YamlPlace {
  /** Zero-based. */
  readonly line: number
  readonly path: YamlPath
}

interface Frame {
  /** Where the key or the dash is. */
  readonly column: number
  readonly name: string | number
}

/** A key at the start of what is left of a line. Quoted keys may contain anything. */
const keyPattern = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#&*!|>'"%@`{[\-?:,][^#]*?|-[^\s#:][^#]*?):(?:\s|$)/
const blockScalarPattern = /[|>][+-]?\d?[+-]?\s*(?:#.*)?$/

/**
 * Finds the keys of a document in block style by their indentation, without parsing it: the document is incomplete
 * while it is edited.
 */
export class YamlOutline {
  readonly places: readonly YamlPlace[]
  readonly #lines: readonly string[]

  constructor(text: string) {
    this.#lines = text.split('\n')
    const places: YamlPlace[] = []
    walk(this.#lines, this.#lines.length, place => places.push(place))
    this.places = places
  }

  /** The line of a field, or of the closest field around it that is in the text. */
  lineOf(path: YamlPath): number | undefined {
    for (let length = path.length; length > 0; length--) {
      const wanted = JSON.stringify(path.slice(0, length))
      const found = this.places.find(place => JSON.stringify(place.path) === wanted)
      if (found) return found.line
    }
    return undefined
  }

  /** The map in which a key would be at this position, and the key itself if the position is in its value. */
  at(line: number, column: number): { readonly parent: YamlPath; readonly key: string | undefined } {
    const before = (this.#lines[line] ?? '').slice(0, column)
    const frames = walk(this.#lines, line, () => undefined)
    const rest = enterItems(frames, before)
    const keyColumn = before.length - rest.length
    const [, key] = keyPattern.exec(rest) ?? []
    leave(frames, keyColumn, false)
    return { parent: frames.map(({ name }) => name), key: key === undefined ? undefined : unquote(key) }
  }

  /** Keys that are in a map already. */
  keysIn(parent: YamlPath): ReadonlySet<string> {
    const wanted = JSON.stringify(parent)
    const children = this.places.filter(({ path }) => JSON.stringify(path.slice(0, -1)) === wanted)
    return new Set(children.map(({ path }) => String(path.at(-1))))
  }
}

/** Visits the keys of the first lines, and returns what is open after them. */
function walk(lines: readonly string[], count: number, visit: (place: YamlPlace) => void): Frame[] {
  const frames: Frame[] = []
  /** Lines indented further belong to a block scalar. */
  let scalarColumn = -1
  for (let line = 0; line < count; line++) {
    const text = lines[line] ?? ''
    if (/^\s*(?:#|$)/.test(text)) continue
    if (scalarColumn !== -1 && text.search(/\S/) > scalarColumn) continue
    scalarColumn = -1
    const rest = enterItems(frames, text)
    const [, key] = keyPattern.exec(rest) ?? []
    if (key === undefined) {
      if (/^[|>]/.test(rest)) scalarColumn = frames.at(-1)?.column ?? -1
      continue
    }
    const column = text.length - rest.length
    leave(frames, column, false)
    frames.push({ column, name: unquote(key) })
    visit({ line, path: frames.map(({ name }) => name) })
    if (blockScalarPattern.test(rest)) scalarColumn = column
  }
  return frames
}

/** Opens the list items that begin on a line; returns the text after their dashes. */
function enterItems(frames: Frame[], text: string): string {
  let column = text.search(/\S|$/)
  while (/^-(?:\s|$)/.test(text.slice(column))) {
    const previous = leave(frames, column, true)
    frames.push({ column, name: typeof previous === 'number' ? previous + 1 : 0 })
    const spaces = /^-\s*/.exec(text.slice(column))?.[0].length ?? 1
    column += spaces
  }
  return text.slice(column)
}

/**
 * Closes what ends at a column. Items may be at the column of the key that they belong to. Returns what was closed
 * there.
 */
function leave(frames: Frame[], column: number, isItem: boolean): string | number | undefined {
  let closed: string | number | undefined
  for (let last = frames.at(-1); last !== undefined && last.column >= column; last = frames.at(-1)) {
    if (isItem && last.column === column && typeof last.name === 'string') break
    closed = last.column === column ? last.name : undefined
    frames.pop()
  }
  return closed
}

function unquote(key: string): string {
  return /^["']/.test(key) ? key.slice(1, -1) : key
}

/** The path of a field in an error of the API server: `spec.containers[0].image`, `metadata.labels[app]`. */
export function parseFieldPath(field: string): YamlPath {
  return [...field.matchAll(/\[("?)(.*?)\1\]|[^.[\]]+/g)].map(([whole, , bracketed]) => {
    if (bracketed === undefined) return whole
    return /^\d+$/.test(bracketed) ? Number(bracketed) : bracketed
  })
}
