/**
 * Command-line flags as values: each has a value name, a help text and a parser. A table of flags gives the
 * typed values and the help output. The syntax is that of the Kubernetes binaries: `--name value` or
 * `--name=value`, a boolean flag alone or with `=true` or `=false`, a list as comma-separated values or by
 * repeating the flag. A shorthand, or a name of one letter, has a single dash.
 */
export interface Flag<T> {
  /**
   * Placeholder of the value in the help output; absent for a boolean flag, which is true when given without
   * a value.
   */
  readonly value?: string
  /** One letter, for use with a single dash: `-n`. */
  readonly shorthand?: string
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

/** Throws UsageError naming the flag. */
export function parseFlags<F extends Flags>(given: readonly string[], flags: F): FlagValues<F> {
  const { values, words } = parseArgumentsAndFlags(given, flags)
  const [word] = words
  if (word !== undefined) {
    throw new UsageError(`unexpected argument ${word}`)
  }
  return values
}

/**
 * Like `parseFlags`, for a command that also takes positional arguments, which may be mixed with the flags.
 */
export function parseArgumentsAndFlags<F extends Flags>(
  given: readonly string[],
  flags: F,
): { readonly words: readonly string[]; readonly values: FlagValues<F> } {
  const { words, texts: textsByName } = collect(given, flags)
  const entries = [...textsByName].map(([name, texts]) => {
    try {
      return [name, flags[name]!.read(texts)]
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      throw new UsageError(`--${name} ${texts.join(',')}: ${error.message}`, { cause: error })
    }
  })
  return { words, values: Object.fromEntries(entries) as FlagValues<F> }
}

interface Collected {
  readonly words: readonly string[]
  readonly texts: ReadonlyMap<string, readonly string[]>
}

function collect(given: readonly string[], flags: Flags): Collected {
  const words: string[] = []
  const texts = new Map<string, string[]>()
  for (let index = 0; index < given.length; index++) {
    const word = given[index]!
    const [, written = '', ownText] = /^(?:--|-(?=\w(?:=|$)))([^=]+)(?:=([^]*))?$/.exec(word) ?? []
    if (written === '') {
      words.push(word)
      continue
    }
    const name = nameOf(written, flags)
    if (name === undefined) throw new UsageError(`unknown flag: --${written}`)
    const flag = flags[name]!
    const text = ownText ?? (flag.value === undefined ? 'true' : given[++index])
    if (text === undefined) throw new UsageError(`flag needs an argument: --${name} ${flag.value}`)
    texts.getOrInsertComputed(name, () => []).push(text)
  }
  return { words, texts }
}

/** Undefined for an unknown flag. */
function nameOf(written: string, flags: Flags): string | undefined {
  if (Object.hasOwn(flags, written)) return written
  return Object.keys(flags).find(name => flags[name]!.shorthand === written)
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
