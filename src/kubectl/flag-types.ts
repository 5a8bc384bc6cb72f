/** Flags of kubectl, with the types, defaults and error texts of pflag. */
import { parseDuration, DurationError } from '#/api/text/duration.ts'
import { quote } from '#/api/text/quote.ts'
import { UsageError, type Flag } from '#/base/flags.ts'

export interface KubectlFlag<T> extends Flag<T> {
  /** As the help shows it: `[]`, `''`, `false`, `30s`. */
  readonly shownDefault: string
  /** Not shown in the help. */
  readonly hidden?: boolean
  /** Printed as a warning when the flag is used. */
  readonly deprecated?: string
  /** The command fails without it. */
  readonly required?: boolean
}

type Options = Partial<
  Pick<
    KubectlFlag<unknown>,
    'shorthand' | 'bareValue' | 'shownDefault' | 'hidden' | 'deprecated' | 'required'
  >
>

interface InvalidArgument {
  readonly name: string
  readonly flag: Flag<unknown>
  readonly text: string
  readonly reason: string
}

/** `invalid argument "a" for "-v, --v" flag: strconv.ParseInt: parsing "a": invalid syntax`. */
export function invalidArgument({ name, flag, text, reason }: InvalidArgument): string {
  const names = flag.shorthand === undefined ? `--${name}` : `-${flag.shorthand}, --${name}`
  return `invalid argument ${quote(text)} for "${names}" flag: ${reason}`
}

export function stringFlag(help: string, options: Options = {}): KubectlFlag<string> {
  return { value: 'string', help, shownDefault: `''`, ...options, read: texts => texts.at(-1)! }
}

export function boolFlag(help: string, options: Options = {}): KubectlFlag<boolean> {
  return { help, shownDefault: 'false', ...options, read: texts => readBool(texts.at(-1)!) }
}

/** Go's strconv.ParseBool. */
function readBool(text: string): boolean {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false
  throw new UsageError(`strconv.ParseBool: parsing ${quote(text)}: invalid syntax`)
}

export function intFlag(help: string, options: Options = {}): KubectlFlag<number> {
  return { value: 'int', help, shownDefault: '0', ...options, read: texts => readInt(texts.at(-1)!) }
}

/** Go's strconv.ParseInt with base 0: `10`, `1_000`, `0x1f`, `0b11`, `0o17`, `017`. */
const integer =
  /^[+-]?(?:0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?\d)*)$/

function readInt(text: string): number {
  if (!integer.test(text)) {
    throw new UsageError(`strconv.ParseInt: parsing ${quote(text)}: invalid syntax`)
  }
  const digits = text.replaceAll('_', '').replace(/^[+-]/, '')
  const size = Number(digits.replace(/^0[oO]?(?=[0-7]+$)/, '0o'))
  const value = text.startsWith('-') ? -size : size
  if (Number.isSafeInteger(value)) return value
  throw new UsageError(`strconv.ParseInt: parsing ${quote(text)}: value out of range`)
}

/** An integer of 32 bits. */
export function int32Flag(help: string, options: Options = {}): KubectlFlag<number> {
  const read = (texts: readonly string[]): number => {
    const text = texts.at(-1)!
    const value = readInt(text)
    if (value >= -(2 ** 31) && value < 2 ** 31) return value
    throw new UsageError(`strconv.ParseInt: parsing ${quote(text)}: value out of range`)
  }
  return { value: 'int32', help, shownDefault: '0', ...options, read }
}

/** In milliseconds. */
export function durationFlag(help: string, options: Options = {}): KubectlFlag<number> {
  const read = (texts: readonly string[]): number => {
    try {
      return Number(parseDuration(texts.at(-1)!)) / 1e6
    } catch (error) {
      if (!(error instanceof DurationError)) throw error
      throw new UsageError(error.message, { cause: error })
    }
  }
  return { value: 'duration', help, shownDefault: '0s', ...options, read }
}

/** May be repeated; each value is taken as it is. */
export function stringArrayFlag(help: string, options: Options = {}): KubectlFlag<readonly string[]> {
  return { value: 'stringArray', help, shownDefault: '[]', ...options, read: texts => texts }
}

/** May be repeated; each value is a line of comma-separated values, in which `"` quotes. */
export function stringSliceFlag(help: string, options: Options = {}): KubectlFlag<readonly string[]> {
  const read = (texts: readonly string[]): readonly string[] => texts.flatMap(readCsvLine)
  return { value: 'strings', help, shownDefault: '[]', ...options, read }
}

/** Go's encoding/csv: a field in quotes may have commas, and `""` is a quote in it. */
function readCsvLine(text: string): readonly string[] {
  if (text === '') return []
  const fields: string[] = []
  let start = 0
  while (start <= text.length) {
    const { value, end } = text[start] === '"' ? readQuoted(text, start) : readBare(text, start)
    fields.push(value)
    start = end + 1
  }
  return fields
}

interface CsvField {
  readonly value: string
  /** Of the comma after it. */
  readonly end: number
}

function readBare(text: string, start: number): CsvField {
  const comma = text.indexOf(',', start)
  const end = comma === -1 ? text.length : comma
  const value = text.slice(start, end)
  const bare = value.indexOf('"')
  if (bare !== -1) throw csvError(start + bare + 1, 'bare " in non-quoted-field')
  return { value, end }
}

function readQuoted(text: string, start: number): CsvField {
  let at = start + 1
  let value = ''
  for (;;) {
    const close = text.indexOf('"', at)
    if (close === -1) throw csvError(text.length + 1, 'extraneous or missing " in quoted-field')
    value += text.slice(at, close)
    const next = text[close + 1]
    if (next === undefined || next === ',') return { value, end: close + 1 }
    if (next !== '"') throw csvError(close + 1, 'extraneous or missing " in quoted-field')
    value += '"'
    at = close + 2
  }
}

function csvError(column: number, reason: string): UsageError {
  return new UsageError(`parse error on line 1, column ${column}: ${reason}`)
}

/** May be repeated; each value is `KEY=VALUE`, or several of them separated by commas. */
export function keyValueFlag(help: string, options: Options = {}): KubectlFlag<ReadonlyMap<string, string>> {
  const read = (texts: readonly string[]): ReadonlyMap<string, string> => {
    // A comma separates only if there are several pairs: `ARGS=a,b`.
    const pairs = texts.flatMap(text => {
      const count = text.split('=').length - 1
      if (count === 0) throw new UsageError(`${text} must be formatted as key=value`)
      return count === 1 ? [text.replaceAll(/^"+|"+$/g, '')] : readCsvLine(text)
    })
    return new Map(
      pairs.map(pair => {
        const equals = pair.indexOf('=')
        if (equals === -1) throw new UsageError(`${pair} must be formatted as key=value`)
        return [pair.slice(0, equals), pair.slice(equals + 1)] as const
      }),
    )
  }
  return { value: 'stringToString', help, shownDefault: '[]', ...options, read }
}

/** One of several words; `kubectl` itself checks them when the command runs. */
export function enumFlag<const T extends string>(
  choices: readonly T[],
  { help, ...options }: Options & { readonly help: string },
): KubectlFlag<T> {
  const read = (texts: readonly string[]): T => {
    const choice = choices.find(each => each === texts.at(-1))
    if (choice === undefined) throw new UsageError(`must be one of ${choices.join(', ')}`)
    return choice
  }
  return { value: 'string', help, shownDefault: `''`, ...options, read }
}
