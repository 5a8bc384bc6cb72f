/**
 * Command-line flags as values: each has a value name, a help text and a parser. A table of flags gives the
 * typed values and the help output. The syntax and the errors are those of pflag, which the Kubernetes binaries use:
 * `--name value` or `--name=value`, a boolean flag alone or with `=true` or `=false`, a list as comma-separated
 * values or by repeating the flag. A shorthand, or a name of one letter, has a single dash; `-it` is `-i -t`, and
 * `-nshop` is `-n shop`. An underscore in a name is a dash. All words after `--` are arguments.
 */
export interface Flag<T> {
  /**
   * Placeholder of the value in the help output; absent for a boolean flag, which is true when given without
   * a value.
   */
  readonly value?: string
  /** One letter, for use with a single dash: `-n`. */
  readonly shorthand?: string
  /** The value of the flag alone, if it takes one only after `=`: `--dry-run` and `--dry-run=server`. */
  readonly bareValue?: string
  /** One line. */
  readonly help: string
  /** Parses the given values, in order and never empty. Throws UsageError for an invalid value. */
  readonly read: (texts: readonly string[]) => T
}

/** By name, without the leading dashes. */
export type Flags = Readonly<Record<string, Flag<unknown>>>

/** Only flags that were given are present. */
export type FlagValues<F extends Flags> = {
  readonly [Name in keyof F]?: F[Name] extends Flag<infer T> ? T : never
}

/** An invalid command line. The message is one line, shown to the user. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'UsageError'
  }
}

/** A value that the flag rejects. */
export class InvalidFlagValue extends UsageError {
  /** `-n, --namespace`. */
  readonly names: string
  readonly text: string
  readonly reason: string

  constructor({ name, flag, text, reason }: InvalidFlagValueOptions) {
    super(`--${name} ${text}: ${reason}`)
    this.name = 'InvalidFlagValue'
    this.names = flag.shorthand === undefined ? `--${name}` : `-${flag.shorthand}, --${name}`
    this.text = text
    this.reason = reason
  }
}

interface InvalidFlagValueOptions {
  readonly name: string
  readonly flag: Flag<unknown>
  readonly text: string
  readonly reason: string
}

/** Throws UsageError naming the flag. */
export function parseFlags<F extends Flags>(given: readonly string[], flags: F): FlagValues<F> {
  const { values, words } = parseArgumentsAndFlags(given, flags)
  const [word] = words
  if (word !== undefined) {
    throw new UsageError(`unexpected argument ${word}`)
  }
  return values
}

export interface ParsedArguments<F extends Flags> {
  /** Positional arguments, which may be mixed with flags. */
  readonly words: readonly string[]
  /** Number of words before `--`; absent without `--`. */
  readonly dashIndex?: number
  readonly values: FlagValues<F>
  /** The texts that were given, in the order of the first occurrence of each flag. */
  readonly texts: ReadonlyMap<string, readonly string[]>
}

/** Like `parseFlags`, for a command that also takes positional arguments. */
export function parseArgumentsAndFlags<F extends Flags>(
  given: readonly string[],
  flags: F,
): ParsedArguments<F> {
  const collected = collect(given, flags)
  const entries = [...collected.texts].map(([name, texts]) => {
    const flag = flags[name]!
    // Also a value that a later one replaces must be valid.
    if (texts.length > 1) for (const text of texts) readValues({ name, flag, texts: [text] })
    return [name, readValues({ name, flag, texts })]
  })
  return { ...collected, values: Object.fromEntries(entries) as FlagValues<F> }
}

interface GivenValues {
  readonly name: string
  readonly flag: Flag<unknown>
  readonly texts: readonly string[]
}

function readValues({ name, flag, texts }: GivenValues): unknown {
  try {
    return flag.read(texts)
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    throw new InvalidFlagValue({ name, flag, text: texts.join(','), reason: error.message })
  }
}

interface Collected {
  readonly words: readonly string[]
  readonly dashIndex?: number
  readonly texts: ReadonlyMap<string, readonly string[]>
}

function collect(given: readonly string[], flags: Flags): Collected {
  const words: string[] = []
  const texts = new Map<string, string[]>()
  const rest = given.values()
  for (const word of rest) {
    if (word === '--') return { dashIndex: words.length, words: [...words, ...rest], texts }
    if (word.length < 2 || !word.startsWith('-')) {
      words.push(word)
      continue
    }
    for (const { name, text } of word.startsWith('--')
      ? readLong(word, flags)
      : readShorthands(word, flags)) {
      const value = text ?? rest.next().value
      if (value === undefined) throw new UsageError(`flag needs an argument: ${missingIn(word, name)}`)
      texts.getOrInsertComputed(name, () => []).push(value)
    }
  }
  return { words, texts }
}

interface GivenFlag {
  readonly name: string
  /** Undefined when the next word is the value. */
  readonly text: string | undefined
}

function readLong(word: string, flags: Flags): readonly GivenFlag[] {
  const [, name = '', text] = /^--([^=]*)(?:=([^]*))?$/.exec(word) ?? []
  if (name === '' || name.startsWith('-')) throw new UsageError(`bad flag syntax: ${word}`)
  const normal = Object.hasOwn(flags, name) ? name : name.replaceAll('_', '-')
  if (!Object.hasOwn(flags, normal)) throw new UsageError(`unknown flag: --${name}`)
  return [{ name: normal, text: text ?? bareValueOf(flags[normal]!) }]
}

/** `-it`, `-n=shop`, `-nshop`: letters without a value, of which the last one may have a value. */
function readShorthands(word: string, flags: Flags): readonly GivenFlag[] {
  const found: GivenFlag[] = []
  for (let index = 1; index < word.length; index++) {
    const letter = word[index]!
    const name = nameOf(letter, flags)
    if (name === undefined) {
      throw new UsageError(`unknown shorthand flag: '${letter}' in -${word.slice(index)}`)
    }
    const after = word.slice(index + 1)
    if (after.startsWith('=')) return [...found, { name, text: after.slice(1) }]
    const bareValue = bareValueOf(flags[name]!)
    if (bareValue === undefined) return [...found, { name, text: after === '' ? undefined : after }]
    found.push({ name, text: bareValue })
  }
  return found
}

function bareValueOf({ value, bareValue }: Flag<unknown>): string | undefined {
  return bareValue ?? (value === undefined ? 'true' : undefined)
}

function missingIn(word: string, name: string): string {
  return word.startsWith('--') ? `--${name}` : `'${word.at(-1)}' in ${word}`
}

/** Undefined for an unknown shorthand. */
function nameOf(letter: string, flags: Flags): string | undefined {
  const name = Object.keys(flags).find(each => flags[each]!.shorthand === letter)
  return name ?? (Object.hasOwn(flags, letter) ? letter : undefined)
}

/** One line for each flag, or two if the name and the help do not fit on one. */
export function describeFlags(flags: Flags): string {
  const lines = Object.entries(flags).map(([name, { value, shorthand, help }]) => {
    const names = `${shorthand === undefined ? '' : `-${shorthand}, `}${name.length === 1 ? '-' : '--'}${name}`
    const head = `  ${names}${value === undefined ? '' : ` ${value}`}`
    return head.length < helpColumn ? `${head.padEnd(helpColumn)}${help}\n` : `${head}\n${indent}${help}\n`
  })
  return lines.join('')
}

const helpColumn = 36
const indent = ' '.repeat(helpColumn)

/** A flag with a single value; the last occurrence wins. `parse` returns undefined for an invalid value. */
export function valueFlag<T>(
  value: string,
  help: string,
  { parse, what }: { readonly parse: (text: string) => T | undefined; readonly what: string },
): Flag<T> {
  const read = (texts: readonly string[]): T => {
    const parsed = parse(texts.at(-1)!)
    if (parsed === undefined) throw new UsageError(`must be ${what}`)
    return parsed
  }
  return { value, help, read }
}

export function stringFlag(value: string, help: string): Flag<string> {
  return valueFlag(value, help, { parse: each => each, what: 'a string' })
}

/** A flag that may be repeated; each occurrence adds one value. */
export function stringArrayFlag(value: string, help: string): Flag<readonly string[]> {
  return { value, help, read: given => given }
}

/** A flag that may be repeated and takes comma-separated values. */
export function stringSliceFlag(value: string, help: string): Flag<readonly string[]> {
  const read = (given: readonly string[]): readonly string[] =>
    given.flatMap(each => (each === '' ? [] : each.split(',').map(item => item.trim())))
  return { value, help, read }
}

/** A boolean flag. */
export function boolFlag(help: string): Flag<boolean> {
  const read = (given: readonly string[]): boolean => {
    const said = boolTexts.get(given.at(-1)!.toLowerCase())
    if (said === undefined) throw new UsageError('must be true or false')
    return said
  }
  return { help, read }
}

const boolTexts: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['t', true],
  ['1', true],
  ['false', false],
  ['f', false],
  ['0', false],
])

export function integerFlag(value: string, help: string): Flag<number> {
  const parse = (given: string): number | undefined => (/^\d{1,15}$/.test(given) ? Number(given) : undefined)
  return valueFlag(value, help, { parse, what: 'a non-negative integer' })
}

export function enumFlag<const T extends string>(choices: readonly T[], help: string): Flag<T> {
  const parse = (given: string): T | undefined => choices.find(each => each === given)
  return valueFlag(choices.join('|'), help, { parse, what: `one of ${choices.join(', ')}` })
}
