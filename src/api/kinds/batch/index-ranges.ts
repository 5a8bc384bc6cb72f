/** Which indexes of a job are meant: `1,3-5,7`, in ascending order. */
import { quote } from '../../quote.ts'

export interface IndexRange {
  readonly first: number
  readonly last: number
}

/** The ranges, or what is wrong with the text: a job has so many indexes, counted from 0. */
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

/** The first index that is in both; undefined when there is none. Both lists are in order. */
export function firstOverlap(a: readonly IndexRange[], b: readonly IndexRange[]): number | undefined {
  let [i, j] = [0, 0]
  for (let left = a[i], right = b[j]; left !== undefined && right !== undefined; left = a[i], right = b[j]) {
    if (left.first <= right.last && right.first <= left.last) return Math.max(left.first, right.first)
    if (left.first <= right.first) i++
    else j++
  }
  return undefined
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
