/**
 * Semantic versions of https://semver.org: `1.2.3-rc.1+build`. Numbers fit into 64 bits. Build metadata is
 * ignored in comparisons.
 */
import { quote } from './quote.ts'

export interface SemanticVersion {
  readonly major: bigint
  readonly minor: bigint
  readonly patch: bigint
  /** Numeric and alphanumeric identifiers. */
  readonly preRelease: readonly (bigint | string)[]
}

/** Thrown if a text is not a version. The message is Kubernetes'. */
export class SemanticVersionError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'SemanticVersionError'
  }
}

/** Throws SemanticVersionError. */
export function parseSemanticVersion(text: string): SemanticVersion {
  if (text === '') throw new SemanticVersionError('Version string empty')
  const [major, minor, rest] = splitParts(text)
  if (major === undefined || minor === undefined || rest === undefined) {
    throw new SemanticVersionError('No Major.Minor.Patch elements found')
  }
  const { patch, preRelease, build } = splitRest(rest)
  const version = {
    major: parseNumber(major, 'Major'),
    minor: parseNumber(minor, 'Minor'),
    patch: parseNumber(patch, 'Patch'),
    preRelease: preRelease.map(parsePreRelease),
  }
  for (const part of build) {
    if (part === '') throw new SemanticVersionError('Build meta data is empty')
    if (notAlphanumeric.test(part)) throw invalidCharacters('build meta data', part)
  }
  return version
}

/** Also accepts `v1`, `1.2` and `01.02.03`, as `1.0.0`, `1.2.0` and `1.2.3`. Throws SemanticVersionError. */
export function parseSemanticVersionLeniently(text: string): SemanticVersion {
  const parts = splitParts(text.startsWith('v') ? text.slice(1) : text).map(part => {
    return part.length > 1 ? part.replace(/^0+(?=[0-9])/, '') : part
  })
  if (parts.length < 3) {
    if (/[+-]/.test(parts.at(-1) ?? '')) {
      throw new SemanticVersionError('short version cannot contain PreRelease/Build meta data')
    }
    while (parts.length < 3) parts.push('0')
  }
  return parseSemanticVersion(parts.join('.'))
}

/** Comparison function for sorting. */
export function compareSemanticVersions(a: SemanticVersion, b: SemanticVersion): -1 | 0 | 1 {
  const numbers = compare(a.major, b.major) || compare(a.minor, b.minor) || compare(a.patch, b.patch)
  if (numbers !== 0) return numbers
  // A release sorts after its pre-releases.
  const isFinal = a.preRelease.length === 0
  if (isFinal !== (b.preRelease.length === 0)) return isFinal ? 1 : -1
  for (const [index, left] of a.preRelease.entries()) {
    const right = b.preRelease[index]
    if (right === undefined) return 1
    const order = compareParts(left, right)
    if (order !== 0) return order
  }
  return a.preRelease.length < b.preRelease.length ? -1 : 0
}

/** True if the text is valid for semver.org, regardless of the size of numbers. */
export function isSemanticVersion(text: string): boolean {
  return pattern.test(text)
}

const numeric = '(?:0|[1-9]\\d*)'
const preReleasePart = '(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)'
const pattern = new RegExp(
  `^${numeric}\\.${numeric}\\.${numeric}` +
    `(?:-${preReleasePart}(?:\\.${preReleasePart})*)?(?:\\+[0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*)?$`,
)

const notAlphanumeric = /[^0-9A-Za-z-]/
const uint64Max = 2n ** 64n - 1n
/** Digits of the largest 64-bit number; longer numbers are not parsed. */
const digitsMax = 20

function splitParts(text: string): string[] {
  const first = text.indexOf('.')
  const second = first === -1 ? -1 : text.indexOf('.', first + 1)
  if (first === -1) return [text]
  if (second === -1) return [text.slice(0, first), text.slice(first + 1)]
  return [text.slice(0, first), text.slice(first + 1, second), text.slice(second + 1)]
}

function splitRest(rest: string): { patch: string; preRelease: string[]; build: string[] } {
  const plus = rest.indexOf('+')
  const build = plus === -1 ? [] : rest.slice(plus + 1).split('.')
  const front = plus === -1 ? rest : rest.slice(0, plus)
  const hyphen = front.indexOf('-')
  if (hyphen === -1) return { patch: front, preRelease: [], build }
  return { patch: front.slice(0, hyphen), preRelease: front.slice(hyphen + 1).split('.'), build }
}

function parseNumber(text: string, name: string): bigint {
  if (/[^0-9]/.test(text)) throw invalidCharacters(`${name.toLowerCase()} number`, text)
  if (/^0./.test(text)) {
    throw new SemanticVersionError(`${name} number must not contain leading zeroes ${quote(text)}`)
  }
  return parseDigits(text)
}

function parsePreRelease(text: string): bigint | string {
  if (text === '') throw new SemanticVersionError('Prerelease is empty')
  if (notAlphanumeric.test(text)) throw invalidCharacters('prerelease', text)
  if (/[^0-9]/.test(text)) return text
  if (/^0./.test(text)) {
    const message = `Numeric PreRelease version must not contain leading zeroes ${quote(text)}`
    throw new SemanticVersionError(message)
  }
  return parseDigits(text)
}

function parseDigits(text: string): bigint {
  const value = text.length > digitsMax ? uint64Max + 1n : BigInt(text)
  if (text !== '' && value <= uint64Max) return value
  const problem = text === '' ? 'invalid syntax' : 'value out of range'
  throw new SemanticVersionError(`strconv.ParseUint: parsing ${quote(text)}: ${problem}`)
}

function invalidCharacters(place: string, text: string): SemanticVersionError {
  return new SemanticVersionError(`Invalid character(s) found in ${place} ${quote(text)}`)
}

/** Numbers sort before text. */
function compareParts(a: bigint | string, b: bigint | string): -1 | 0 | 1 {
  if (typeof a === typeof b) return compare(a, b)
  return typeof a === 'bigint' ? -1 : 1
}

function compare<T extends bigint | string | number>(a: T, b: T): -1 | 0 | 1 {
  if (a === b) return 0
  return a < b ? -1 : 1
}
