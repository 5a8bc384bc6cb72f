import type { JsonValue } from '#/api/text/json-value.ts'
import { formatValue, GoNumber, sortedKeys, typeOf, type GoValue } from '../go-format.ts'
import { compareValues } from './compare-values.ts'
import { JsonPathError } from './json-path-error.ts'
import type { JsonPathFilter, JsonPathList, JsonPathNode, JsonPathSlice } from './parse-json-path.ts'

export type Matches = readonly GoValue[]

export interface JsonPathRunOptions {
  readonly nodes: readonly JsonPathNode[]
  readonly allowMissingKeys: boolean
}

/** One evaluation of a template. */
export class JsonPathRun {
  readonly #nodes: readonly JsonPathNode[]
  readonly #allowMissingKeys: boolean
  /** Number of `range` of the action that is being evaluated. */
  #begun = 0
  /** Number of ranges around the action that is being evaluated. */
  #open = 0
  #ended = 0
  /** Index of the last action that ended a range. */
  #endIndex = -1

  constructor({ nodes, allowMissingKeys }: JsonPathRunOptions) {
    this.#nodes = nodes
    this.#allowMissingKeys = allowMissingKeys
  }

  /** The matches of each action and text, repeated for the values of ranges. Throws JsonPathError. */
  find(data: GoValue, start = 0): readonly Matches[] {
    const found: Matches[] = []
    for (let index = start; index < this.#nodes.length; index++) {
      const matches = this.#evaluate([data], this.#nodes[index] as JsonPathNode)
      if (this.#ended > 0 && this.#ended <= this.#open) {
        this.#ended--
        this.#endIndex = index
        break
      }
      if (this.#begun === 0) {
        found.push(matches)
        continue
      }
      found.push(...this.#findInRange(matches, index + 1).flat())
      // Without an end, the actions of the range are evaluated once more outside of it.
      if (this.#endIndex > index) index = this.#endIndex
    }
    return found
  }

  #findInRange(values: Matches, start: number): readonly (readonly Matches[])[] {
    this.#begun--
    this.#open++
    const found = values.map(value => this.find(value ?? undefined, start))
    // The end of a range without values must be found, too.
    if (values.length === 0) this.find(undefined, start)
    this.#open--
    return found
  }

  #evaluate(values: Matches, node: JsonPathNode): Matches {
    switch (node.kind) {
      case 'list':
        return this.#evaluateList(values, node)
      case 'text':
        return [node.text]
      case 'literal':
        return values.map(() => node.value)
      case 'field':
        return this.#field(values, node.name)
      case 'identifier':
        return this.#identifier(values, node.name)
      case 'wildcard':
        return values.flatMap(childrenOf)
      case 'recursive':
        return values.flatMap(descendantsOf)
      case 'slice':
        return sliceAll(node, values)
      case 'union':
        return this.#union(values, node.parts)
      case 'filter':
      default:
        return this.#filter(values, node)
    }
  }

  #evaluateList(values: Matches, list: JsonPathList): Matches {
    let matches = values
    for (const node of list.nodes) matches = this.#evaluate(matches, node)
    return matches
  }

  #field(values: Matches, name: string): Matches {
    if (values.length === 0) return []
    const matches = values.flatMap(value => {
      return isMap(value) && Object.hasOwn(value, name) ? [value[name] as JsonValue] : []
    })
    if (matches.length === 0 && !this.#allowMissingKeys) throw new JsonPathError(`${name} is not found`)
    return matches
  }

  #identifier(values: Matches, name: string): Matches {
    if (name === 'range') {
      this.#begun++
      return values
    }
    if (name !== 'end') throw new JsonPathError(`unrecognized identifier ${name}`, values)
    if (this.#open === 0) throw new JsonPathError('not in range, nothing to end')
    this.#ended++
    return []
  }

  #union(values: Matches, parts: readonly JsonPathList[]): Matches {
    return withFound(values, () => parts.flatMap(part => this.#evaluateList(values, part)))
  }

  #filter(values: Matches, filter: JsonPathFilter): Matches {
    const found: GoValue[] = []
    for (const value of values) {
      if (!Array.isArray(value)) {
        const shown = value === undefined ? '<invalid reflect.Value>' : formatValue(value)
        throw new JsonPathError(`${shown} is not array or slice and cannot be filtered`, values)
      }
      for (const item of value) if (this.#passes(filter, item, { values, found })) found.push(item)
    }
    return found
  }

  #passes(
    { left, comparison }: JsonPathFilter,
    item: JsonValue,
    { values, found }: { readonly values: Matches; readonly found: Matches },
  ): boolean {
    if (comparison === undefined) return this.#exists(left, item)
    const operands = withFound(values, () => {
      const lefts = single(this.#evaluateList([item], left))
      return lefts && [lefts, single(this.#evaluateList([item], comparison.right))]
    })
    const [a, b] = operands ?? []
    if (a === undefined || b === undefined) return false
    return withFound(found, () => compareValues({ operator: comparison.operator, left: a[0], right: b[0] }))
  }

  #exists(path: JsonPathList, item: JsonValue): boolean {
    try {
      return this.#evaluateList([item], path).length > 0
    } catch (error) {
      if (error instanceof JsonPathError) return error.found.length > 0
      throw error
    }
  }
}

/** The only operand of a comparison, or undefined if there is none. */
function single(matches: Matches): readonly [GoValue] | undefined {
  if (matches.length > 1) throw new JsonPathError('can only compare one element at a time')
  return matches.length === 0 ? undefined : [matches[0]]
}

/** A failure counts as having found these values. */
function withFound<T>(found: Matches, evaluate: () => T): T {
  try {
    return evaluate()
  } catch (error) {
    throw error instanceof JsonPathError ? new JsonPathError(error.message, found) : error
  }
}

function isMap(value: GoValue): value is { [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof GoNumber)
}

/** The members of a map by key, the items of a list, or the bytes of a string. */
function childrenOf(value: GoValue): Matches {
  if (typeof value === 'string') return [...Buffer.from(value)].map(byte => new GoNumber('uint8', byte))
  if (Array.isArray(value)) return value
  return isMap(value) ? sortedKeys(value).map(key => value[key] as JsonValue) : []
}

/** The value and all below that are not empty and not numbers or booleans. */
function descendantsOf(value: GoValue): Matches {
  if (typeof value === 'string') return value === '' ? [] : [value]
  const children = childrenOf(value)
  return children.length === 0 ? [] : [value, ...children.flatMap(descendantsOf)]
}

/** An empty slice ends the selection: the lists after it are not visited, as in kubectl. */
function sliceAll(node: JsonPathSlice, values: Matches): Matches {
  const found: GoValue[] = []
  for (const value of values) {
    if (value === null) continue
    if (!Array.isArray(value)) throw new JsonPathError(`${typeOf(value)} is not array or slice`, values)
    const range = rangeOf(node, value.length)
    if (typeof range === 'string') throw new JsonPathError(range, values)
    if (range.from === range.to) return found
    for (let index = range.from; index < range.to; index += range.step) found.push(value[index])
  }
  return found
}

interface Range {
  readonly from: number
  readonly to: number
  readonly step: number
}

/** Returns an error if a bound is not in the list. */
function rangeOf({ start, end, isIndex, step = 1 }: JsonPathSlice, length: number): Range | string {
  const from = start < 0 ? start + length : start
  const last = end ?? length
  const to = last < 0 || (last === 0 && isIndex) ? last + length : last
  if (from === to) return { from, to, step }
  if (from >= length || from < 0) return `array index out of bounds: index ${from}, length ${length}`
  if (to > length || to < 0) return `array index out of bounds: index ${to - 1}, length ${length}`
  if (from > to) return `starting index ${from} is greater than ending index ${to}`
  return step > 0 ? { from, to, step } : 'step must be > 0'
}
