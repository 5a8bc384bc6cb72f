/**
 * Sets of code points as flat lists of range bounds: `[0x30, 0x39]` are the digits. A list is sorted and its
 * ranges neither touch nor overlap, except where it is named `pairs`.
 */
export type Ranges = readonly number[]

export const codePointMax = 0x10ffff

/** Sorts and merges ranges that may overlap. */
export function rangesOf(pairs: readonly number[]): Ranges {
  const starts: number[] = []
  for (let index = 0; index < pairs.length; index += 2) starts.push(index)
  starts.sort((a, b) => (pairs[a] ?? 0) - (pairs[b] ?? 0))
  const ranges: number[] = []
  let last = -2
  for (const start of starts) {
    const low = pairs[start] ?? 0
    const high = pairs[start + 1] ?? 0
    if (low > last + 1) ranges.push(low, high)
    else if (high > last) ranges[ranges.length - 1] = high
    last = Math.max(last, high)
  }
  return ranges
}

/** The complement of the set. */
export function negate(ranges: Ranges): Ranges {
  const negated: number[] = []
  let next = 0
  for (let index = 0; index < ranges.length; index += 2) {
    const low = ranges[index] ?? 0
    if (low > next) negated.push(next, low - 1)
    next = (ranges[index + 1] ?? 0) + 1
  }
  if (next <= codePointMax) negated.push(next, codePointMax)
  return negated
}

export function contains(ranges: Ranges, codePoint: number): boolean {
  let low = 0
  let high = ranges.length >> 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (codePoint > (ranges[2 * middle + 1] ?? 0)) low = middle + 1
    else high = middle
  }
  return codePoint >= (ranges[2 * low] ?? Infinity)
}

/** Adds the case variants of every code point in the set. Computed once for each set, such as a Unicode class. */
export function foldCase(ranges: Ranges): Ranges {
  return folded.getOrInsertComputed(ranges, addVariants)
}

const folded = new WeakMap<Ranges, Ranges>()

function addVariants(ranges: Ranges): Ranges {
  const orbits = (ranges.at(-1) ?? 0) < 0x80 ? asciiOrbits() : allOrbits()
  const pairs = [...ranges]
  const [only = 0] = ranges
  if (ranges.length === 2 && only === ranges[1]) {
    return rangesOf([...pairs, ...(orbits.get(only) ?? []).flatMap(other => [other, other])])
  }
  for (const [codePoint, others] of orbits) {
    if (!contains(ranges, codePoint)) continue
    for (const other of others) if (!contains(ranges, other)) pairs.push(other, other)
  }
  return rangesOf(pairs)
}

/** From a code point to its case variants. */
type Orbits = ReadonlyMap<number, readonly number[]>

let asciiOrbitsCache: Orbits | undefined
let allOrbitsCache: Orbits | undefined

function asciiOrbits(): Orbits {
  asciiOrbitsCache ??= new Map(
    Array.from('abcdefghijklmnopqrstuvwxyz').flatMap(letter => {
      const lower = letter.charCodeAt(0)
      const upper = lower - 0x20
      // The long s and the Kelvin sign are the only non-ASCII characters that fold to ASCII.
      const more = letter === 's' ? [0x17f] : letter === 'k' ? [0x212a] : []
      return [
        [lower, [upper, ...more]],
        [upper, [lower, ...more]],
      ] as const
    }),
  )
  return asciiOrbitsCache
}

/** Last code point with case. */
const casedMax = 0x1e943
/** Dotless and dotted i, which fold to other letters only in Turkish. */
const unfolded: ReadonlySet<number> = new Set([0x130, 0x131])

/** Takes about ten milliseconds, once, and only for case-insensitive patterns with non-ASCII letters. */
function allOrbits(): Orbits {
  if (allOrbitsCache !== undefined) return allOrbitsCache
  const orbits = new Map<string, Set<number>>()
  for (let codePoint = 0; codePoint <= casedMax; codePoint++) {
    if (isSurrogate(codePoint) || unfolded.has(codePoint)) continue
    const text = String.fromCodePoint(codePoint)
    const upper = single(text.toUpperCase(), text)
    const lower = single(upper.toLowerCase(), upper)
    if (lower === text && upper === text) continue
    orbits.getOrInsertComputed(lower, () => new Set([lower.codePointAt(0) ?? 0])).add(codePoint)
  }
  const found = new Map<number, readonly number[]>()
  for (const orbit of orbits.values()) for (const each of orbit) found.set(each, [...orbit])
  allOrbitsCache = found
  return found
}

function single(text: string, otherwise: string): string {
  return text.length === 1 || (text.length === 2 && (text.codePointAt(0) ?? 0) > 0xffff) ? text : otherwise
}

export function isSurrogate(codePoint: number): boolean {
  return codePoint >= 0xd800 && codePoint <= 0xdfff
}
