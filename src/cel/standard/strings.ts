/** String functions. Lengths and indexes count characters, never UTF-16 units. */
import { expressionCostMax, findCost, sizeOf, traversalCost, traversalFactor } from '../cost.ts'
import {
  estimateCopy,
  estimateFind,
  estimateMatch,
  estimateTraversal,
  type Operand,
  sameSize,
} from '../estimate.ts'
import { Fault } from '../fault.ts'
import { globalFunction, method, type Overload } from '../function.ts'
import { boolType, dynType, intType, listOf, stringType } from '../type.ts'
import { list, type ListValue, typeName, type Value } from '../value.ts'
import { searchCost, withPattern } from './regular-expressions.ts'
import { formatCost, formatString } from './string-format.ts'
import { estimateJoin, joinedSize, quotedSize, replacedSize, splitSize } from './string-sizes.ts'
import { characterAt, countCharacters, sliceCharacters, unitOf } from './text.ts'

const stringList = listOf(stringType)
/** Kubernetes estimates the size of the prefix or suffix, not of the text. */
const byPart = { cost: traversalCost, estimatedCost: (_: Operand, part: Operand) => estimateTraversal(part) }
const byCopy = { cost: traversalCost, estimatedCost: estimateTraversal, resultSize: sameSize }
const bySearch = { cost: findCost, estimatedCost: estimateTraversal }
const byMatch = { cost: searchCost, estimatedCost: estimateMatch }
const byQuote = { cost: traversalCost, estimatedCost: estimateTraversal, resultSize: quotedSize }
const byReplace = { cost: replaceCost, estimatedCost: estimateCopy, resultSize: replacedSize }
const bySplit = { cost: splitCost, estimatedCost: estimateCopy, resultSize: splitSize }

export const strings: readonly Overload[] = [
  method('contains', [stringType, stringType], boolType, (text, part) => text.includes(part), {
    cost: findCost,
    estimatedCost: estimateFind,
  }),
  method('startsWith', [stringType, stringType], boolType, (text, start) => text.startsWith(start), byPart),
  method('endsWith', [stringType, stringType], boolType, (text, end) => text.endsWith(end), byPart),
  method('matches', [stringType, stringType], boolType, matches, byMatch),
  globalFunction('matches', [stringType, stringType], boolType, matches, { cost: searchCost }),

  method('charAt', [stringType, intType], stringType, charAt, { cost: traversalCost }),
  method('indexOf', [stringType, stringType], intType, (text, part) => indexOf(text, part, 0n), bySearch),
  method('indexOf', [stringType, stringType, intType], intType, indexOf, bySearch),
  method('lastIndexOf', [stringType, stringType], intType, (text, part) => lastIndexOf(text, part), bySearch),
  method('lastIndexOf', [stringType, stringType, intType], intType, lastIndexOf, bySearch),
  method('lowerAscii', [stringType], stringType, lowerAscii, byCopy),
  method('upperAscii', [stringType], stringType, upperAscii, byCopy),
  method('trim', [stringType], stringType, trim, byCopy),
  method('quote', [stringType], stringType, quote, byQuote),
  globalFunction('strings.quote', [stringType], stringType, quote, byQuote),
  method('reverse', [stringType], stringType, text => Array.from(text).reverse().join(''), byCopy),
  method(
    'replace',
    [stringType, stringType, stringType],
    stringType,
    (text, from, to) => replace(text, from, to),
    byReplace,
  ),
  method('replace', [stringType, stringType, stringType, intType], stringType, replace, byReplace),
  method(
    'split',
    [stringType, stringType],
    stringList,
    (text, separator) => split(text, separator, -1n),
    bySplit,
  ),
  method('split', [stringType, stringType, intType], stringList, split, bySplit),
  method('substring', [stringType, intType], stringType, (text, start) => substring(text, start), byCopy),
  method('substring', [stringType, intType, intType], stringType, substring, byCopy),
  method('join', [stringList], stringType, values => join(values, ''), {
    cost: values => joinCost(values, ''),
    estimatedCost: estimateJoin,
    resultSize: joinedSize,
  }),
  method('join', [stringList, stringType], stringType, join, {
    cost: joinCost,
    estimatedCost: estimateJoin,
    resultSize: joinedSize,
  }),
  method('format', [stringType, listOf(dynType)], stringType, formatString, {
    cost: formatCost,
    estimatedCost: estimateTraversal,
  }),
]

function matches(text: string, pattern: string): boolean {
  return withPattern(pattern, expression => expression.test(text))
}

function charAt(text: string, index: bigint): string {
  const size = BigInt(countCharacters(text))
  if (index < 0n || index > size) throw outOfRange(index)
  return sliceCharacters(text, Number(index), Number(index) + 1)
}

function indexOf(text: string, part: string, offset: bigint): bigint {
  if (offset < 0n) throw outOfRange(offset)
  const size = countCharacters(text)
  if (offset >= BigInt(size)) return part === '' ? BigInt(size) : -1n
  return BigInt(characterAt(text, text.indexOf(part, unitOf(text, Number(offset)))))
}

function lastIndexOf(text: string, part: string, offset?: bigint): bigint {
  if (offset !== undefined && offset < 0n) throw outOfRange(offset)
  const size = BigInt(countCharacters(text))
  if (offset !== undefined && offset >= size) return part === '' ? size : -1n
  const from = offset === undefined ? text.length : unitOf(text, Number(offset))
  return BigInt(characterAt(text, text.lastIndexOf(part, from)))
}

function lowerAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, letters => letters.toLowerCase())
}

function upperAscii(text: string): string {
  return text.replaceAll(/[a-z]+/g, letters => letters.toUpperCase())
}

/** Unicode white space. JavaScript's trim also removes U+FEFF, and does not remove U+0085. */
const spaces = String.raw`[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]`
const spaceAtStart = new RegExp(`^${spaces}+`)
const space = new RegExp(spaces)

function trim(text: string): string {
  let end = text.length
  while (end > 0 && space.test(text.charAt(end - 1))) end--
  return text.slice(0, end).replace(spaceAtStart, '')
}

const quotedSigns: ReadonlyMap<string, string> = new Map([
  ['\x07', String.raw`\a`],
  ['\b', String.raw`\b`],
  ['\f', String.raw`\f`],
  ['\n', String.raw`\n`],
  ['\r', String.raw`\r`],
  ['\t', String.raw`\t`],
  ['\v', String.raw`\v`],
  ['\\', '\\\\'],
  ['"', '\\"'],
])

function quote(text: string): string {
  return `"${Array.from(text.toWellFormed(), sign => quotedSigns.get(sign) ?? sign).join('')}"`
}

/** The empty string matches before every character and at the end. */
function replace(text: string, from: string, to: string, limit = -1n): string {
  if (limit === 0n) return text
  const pieces = from === '' ? ['', ...Array.from(text), ''] : text.split(from)
  // An empty search string has one more match than there are characters.
  const replaced = limit < 0n || limit >= BigInt(pieces.length - 1) ? pieces.length - 1 : Number(limit)
  const head = pieces.slice(0, replaced + 1).join(to)
  const tail = pieces.slice(replaced + 1)
  return tail.length === 0 ? head : `${head}${from}${tail.join(from)}`
}

/** Includes the growth of the result, since replacements can multiply its length. */
function replaceCost(text: string, from: string, to: string): number {
  const cost = Math.max(findCost(text, from), Math.ceil(text.length * 2 * traversalFactor))
  // Even counting the matches would take too long.
  if (cost > expressionCostMax || to.length <= from.length) return cost
  return cost + Math.ceil(countPlaces(text, from) * (to.length - from.length) * traversalFactor)
}

function countPlaces(text: string, part: string): number {
  if (part === '') return text.length + 1
  let count = 0
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++
  return count
}

function splitCost(text: string, separator: string): number {
  return Math.max(findCost(text, separator), Math.ceil(text.length * 2 * traversalFactor))
}

function split(text: string, separator: string, limit: bigint): ListValue {
  if (limit === 0n) return list([])
  const pieces = separator === '' ? Array.from(text) : text.split(separator)
  if (limit < 0n || BigInt(pieces.length) <= limit) return list(pieces)
  const kept = pieces.slice(0, Number(limit) - 1)
  return list([...kept, pieces.slice(Number(limit) - 1).join(separator)])
}

function substring(text: string, start: bigint, end?: bigint): string {
  const size = BigInt(countCharacters(text))
  if (end !== undefined && start > end) {
    throw new Fault(`invalid substring range. start: ${start}, end: ${end}`)
  }
  for (const index of end === undefined ? [start] : [start, end]) {
    if (index < 0n || index > size) throw outOfRange(index)
  }
  return sliceCharacters(text, Number(start), end === undefined ? undefined : Number(end))
}

function join(values: ListValue, separator: string): string {
  const texts: string[] = []
  for (const value of values) texts.push(expectString(value))
  return texts.join(separator)
}

/** Cost by the size of the result. */
function joinCost(values: ListValue, separator: string): number {
  let size = values.size * separator.length
  for (const value of values) size += sizeOf(value)
  return Math.max(1, Math.ceil(size * 2 * traversalFactor))
}

function expectString(value: Value): string {
  if (typeof value === 'string') return value
  throw new Fault(`join: invalid input: ${typeName(value)}`)
}

function outOfRange(index: bigint): Fault {
  return new Fault(`index out of range: ${index}`)
}
