/**
 * Index ranges of an Indexed Job in the format of `completedIndexes`: `1,3-5,7`, ascending and without
 * overlaps.
 */
import { quote } from './quote.ts'

export interface IndexRange {
  readonly first: number
  readonly last: number
}

/** Returns the ranges or an error message. Valid indexes are 0 to `completions` - 1. */
export function parseIndexRanges(text: string, completions: number): readonly IndexRange[] | string {
  const ranges: IndexRange[] = []
  if (text === '') return ranges
  let previous = -1
  for (const part of text.split(',')) {
    const range = parseRange(part, completions)
    if (typeof range === 'string') return range
    if (previous >= range.first) return outOfOrder(previous, range.first)
    ranges.push(range)
    previous = range.last
  }
  return ranges
}

export function countIndexes(ranges: readonly IndexRange[]): number {
  return ranges.reduce((count, { first, last }) => count + last - first + 1, 0)
}

/** The first index that is in both; undefined if there is none. Both lists are sorted. */
export function firstOverlap(a: readonly IndexRange[], b: readonly IndexRange[]): number | undefined {
  let [i, j] = [0, 0]
  for (let left = a[i], right = b[j]; left !== undefined && right !== undefined; left = a[i], right = b[j]) {
    if (left.first <= right.last && right.first <= left.last) return Math.max(left.first, right.first)
    if (left.first <= right.first) i++
    else j++
  }
  return undefined
}

/** Parses ranges leniently and drops indexes at or above a bound; invalid text gives no ranges. */
export function readIndexRanges(text: string | undefined, below: number): readonly IndexRange[] {
  const ranges = parseIndexRanges(text ?? '', Infinity)
  if (typeof ranges === 'string') return []
  return ranges
    .filter(({ first }) => first < below)
    .map(({ first, last }) => ({ first, last: Math.min(last, below - 1) }))
}

/** Two consecutive indexes are written separately, three or more as a range. */
export function formatIndexRanges(ranges: readonly IndexRange[]): string {
  return ranges
    .map(({ first, last }) => {
      if (first === last) return String(first)
      return last === first + 1 ? `${first},${last}` : `${first}-${last}`
    })
    .join(',')
}

/** Converts indexes to ranges; they may be unsorted and contain duplicates. */
export function indexRangesOf(indexes: Iterable<number>): readonly IndexRange[] {
  return joined([...indexes].sort((a, b) => a - b).map(index => ({ first: index, last: index })))
}

/** The union of the lists, with the minimum number of ranges. */
export function mergeIndexRanges(...lists: readonly (readonly IndexRange[])[]): readonly IndexRange[] {
  return joined(lists.flat().sort((a, b) => a.first - b.first))
}

export function hasIndex(ranges: readonly IndexRange[], index: number): boolean {
  let [low, high] = [0, ranges.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ranges[middle]!.last < index) low = middle + 1
    else high = middle
  }
  const range = ranges[low]
  return range !== undefined && range.first <= index
}

/** Number of indexes in both lists. */
export function countIntersection(a: readonly IndexRange[], b: readonly IndexRange[]): number {
  let count = 0
  let [i, j] = [0, 0]
  for (let left = a[i], right = b[j]; left !== undefined && right !== undefined; left = a[i], right = b[j]) {
    count += Math.max(0, Math.min(left.last, right.last) - Math.max(left.first, right.first) + 1)
    if (left.last < right.last) i++
    else j++
  }
  return count
}

/** The first indexes below the bound that are not in the ranges, up to a limit. */
export function firstPendingIndexes(
  ranges: readonly IndexRange[],
  { below, limit }: { readonly below: number; readonly limit: number },
): readonly number[] {
  const missing: number[] = []
  let next = 0
  for (const { first, last } of [...ranges, { first: below, last: below }]) {
    for (; next < Math.min(first, below) && missing.length < limit; next++) missing.push(next)
    next = Math.max(next, last + 1)
    if (missing.length >= limit) break
  }
  return missing
}

/** The ranges are sorted by their first index but may overlap. */
function joined(ranges: readonly IndexRange[]): readonly IndexRange[] {
  const result: IndexRange[] = []
  for (const range of ranges) {
    const before = result.at(-1)
    if (before === undefined || range.first > before.last + 1) result.push(range)
    else if (range.last > before.last) result[result.length - 1] = { first: before.first, last: range.last }
  }
  return result
}

function parseRange(text: string, completions: number): IndexRange | string {
  const [from = '', to, ...more] = text.split('-')
  if (more.length > 0) {
    const rule = "violates the requirement that an index interval can have at most two parts separated by '-'"
    return `the fragment ${quote(text)} ${rule}`
  }
  const first = parseIndex(from, completions)
  if (typeof first === 'string') return first
  if (to === undefined) return { first, last: first }
  const last = parseIndex(to, completions)
  if (typeof last === 'string') return last
  return first >= last ? outOfOrder(first, last) : { first, last }
}

function parseIndex(text: string, completions: number): number | string {
  if (!/^[+]?[0-9]{1,15}$/.test(text)) return `cannot convert string to integer for index: ${quote(text)}`
  const index = Number(text)
  return index < completions ? index : `too large index: ${quote(text)}`
}

function outOfOrder(previous: number, current: number): string {
  return `non-increasing order, previous: ${previous}, current: ${current}`
}
