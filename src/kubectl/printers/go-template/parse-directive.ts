import { isFloat, isNumber, type GoValue } from '../go-format.ts'
import { numberOf } from './template-value.ts'

export interface Flags {
  readonly sharp: boolean
  readonly zero: boolean
  readonly plus: boolean
  readonly minus: boolean
  readonly space: boolean
  readonly width: number | undefined
  readonly precision: number | undefined
}

/** Such as `%-5[2]d`. */
export interface Directive {
  /** Undefined at the end of the format. */
  readonly verb: string | undefined
  /** Index of the value to print. */
  readonly value: number
  /** Why there is no value. */
  readonly missing: 'BADINDEX' | 'MISSING' | undefined
  readonly flags: Flags
  /** Text about an invalid width or precision. */
  readonly problems: string
  /** Position after the directive. */
  readonly end: number
  /** Index of the value for the next directive. */
  readonly next: number
  readonly isReordered: boolean
}

export interface DirectiveStart {
  readonly format: string
  /** Position after the percent sign. */
  readonly start: number
  readonly next: number
  readonly values: readonly GoValue[]
  readonly isReordered: boolean
}

export function parseDirective(start: DirectiveStart): Directive {
  return new DirectiveParser(start).parse()
}

/** Maximum width and precision. */
const sizeMax = 1_000_000

class DirectiveParser {
  readonly #format: string
  readonly #values: readonly GoValue[]
  #at: number
  #next: number
  #isReordered: boolean
  #isIndexValid = true
  /** The last thing read was an index such as `[2]`. */
  #afterIndex = false
  #problems = ''

  constructor({ format, start, next, values, isReordered }: DirectiveStart) {
    this.#format = format
    this.#values = values
    this.#at = start
    this.#next = next
    this.#isReordered = isReordered
  }

  parse(): Directive {
    // Only the last directive decides whether values that are not printed are reported.
    this.#isReordered = false
    const given = this.#match(/[#0+\- ]*/y)
    this.#readIndex()
    let width = this.#readWidth()
    const isNegative = width !== undefined && width < 0
    if (width !== undefined) width = Math.abs(width)
    const precision = this.#readPrecision()
    if (!this.#afterIndex) this.#readIndex()
    const [verb] = this.#format.slice(this.#at, this.#at + 2)
    this.#at += verb?.length ?? 0
    const value = this.#next
    const isAbsent = value >= this.#values.length
    const missing = !this.#isIndexValid ? 'BADINDEX' : isAbsent ? 'MISSING' : undefined
    if (verb !== undefined && verb !== '%' && missing === undefined) this.#next++
    const minus = given.includes('-') || isNegative
    return {
      verb,
      value,
      missing,
      flags: {
        sharp: given.includes('#'),
        zero: given.includes('0') && !isNegative,
        plus: given.includes('+'),
        minus,
        space: given.includes(' '),
        width,
        precision,
      },
      problems: this.#problems,
      end: this.#at,
      next: this.#next,
      isReordered: this.#isReordered,
    }
  }

  #readWidth(): number | undefined {
    if (this.#match(/\*/y) !== '') {
      this.#afterIndex = false
      return this.#readSize('%!(BADWIDTH)')
    }
    const width = this.#readNumber()
    if (this.#afterIndex && width !== undefined) this.#isIndexValid = false
    return width
  }

  #readPrecision(): number | undefined {
    if (this.#match(/\./y) === '') return undefined
    if (this.#afterIndex) this.#isIndexValid = false
    this.#readIndex()
    if (this.#match(/\*/y) === '') return this.#readNumber() ?? 0
    this.#afterIndex = false
    const precision = this.#readSize('%!(BADPREC)')
    if (precision === undefined || precision >= 0) return precision
    this.#problems += '%!(BADPREC)'
    return undefined
  }

  /** A width or precision that is a value. */
  #readSize(problem: string): number | undefined {
    const value = this.#values[this.#next]
    const isInteger = isNumber(value) && !isFloat(value)
    const size = isInteger ? Number(numberOf(value)) : undefined
    if (this.#next < this.#values.length) this.#next++
    if (size !== undefined && Math.abs(size) <= sizeMax) return size
    this.#problems += problem
    return undefined
  }

  #readNumber(): number | undefined {
    const digits = this.#match(/[0-9]+/y)
    if (digits === '') return undefined
    if (Number(digits.slice(0, -1)) <= sizeMax) return Number(digits)
    // As in Go, the rest of the format is lost.
    this.#at = this.#format.length
    return undefined
  }

  #readIndex(): void {
    this.#afterIndex = false
    if (this.#format[this.#at] !== '[') return
    this.#isReordered = true
    const close = this.#format.indexOf(']', this.#at)
    if (this.#format.length - this.#at < 3 || close === -1) {
      this.#isIndexValid = false
      this.#at++
      return
    }
    const digits = this.#format.slice(this.#at + 1, close)
    this.#at = close + 1
    this.#afterIndex = /^[0-9]+$/.test(digits)
    const index = Number(digits) - 1
    if (this.#afterIndex && index >= 0 && index < this.#values.length) this.#next = index
    else this.#isIndexValid = false
  }

  /** Consumes a match of a sticky pattern; empty if there is none. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const [text = ''] = pattern.exec(this.#format) ?? []
    this.#at += text.length
    return text
  }
}
