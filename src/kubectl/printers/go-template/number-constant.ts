import { quote } from '#/api/text/quote.ts'
import { int64Max, int64Min } from '#/api/text/int64.ts'
import { unquoteCharacter } from '../unquote.ts'

/** The value of a constant, whose type its syntax determines. */
export type NumberConstant =
  | { readonly type: 'int'; readonly value: bigint }
  | { readonly type: 'float64'; readonly value: number }
  /** An integer between 2^63 and 2^64, which only an unsigned type holds. */
  | { readonly type: 'overflow' }

/** Throws an error with Go's message. */
export function parseNumberConstant(source: string): NumberConstant {
  const integer = parseInteger(source)
  if (integer !== undefined) {
    if (integer >= int64Min && integer <= int64Max) return { type: 'int', value: integer }
    if (integer > 0n && integer < 2n ** 64n && !/^[-+]/.test(source)) return { type: 'overflow' }
  }
  const value = parseFloat64(source)
  if (value === undefined) throw new Error(`illegal number syntax: ${quote(source)}`)
  if (!/[.eEpP]/.test(source)) throw new Error(`integer overflow: ${quote(source)}`)
  return { type: 'float64', value }
}

/** `'a'` is a number, too. Throws an error with Go's message. */
export function parseCharacterConstant(source: string): NumberConstant {
  const character = unquoteCharacter(source.slice(1), "'")
  if (character === undefined) throw new Error('invalid syntax')
  if (source.slice(1 + character.length) !== "'") {
    throw new Error(`malformed character constant: ${source}`)
  }
  return { type: 'int', value: BigInt(character.code) }
}

const integer =
  /^([-+]?)(?:0[xX]((?:_?[0-9a-fA-F])+)|0[bB]((?:_?[01])+)|0[oO]((?:_?[0-7])+)|0((?:_?[0-7])+)|(0|[1-9](?:_?[0-9])*))$/
const float = /^[-+]?(?:[0-9](?:_?[0-9])*\.?(?:[0-9](?:_?[0-9])*)?|\.[0-9](?:_?[0-9])*)(?:[eE][-+]?[0-9]+)?$/

/** The longest integer has 64 binary digits and may have as many underscores. */
const integerLengthMax = 140

function parseInteger(source: string): bigint | undefined {
  const match = source.length > integerLengthMax ? null : integer.exec(source)
  if (match === null) return undefined
  const [, sign, hexadecimal, binary, octal, legacyOctal, decimal] = match
  const digits = (prefix: string, text: string | undefined) => {
    return text === undefined ? undefined : BigInt(prefix + text.replaceAll('_', ''))
  }
  const size =
    digits('0x', hexadecimal) ??
    digits('0b', binary) ??
    digits('0o', octal ?? legacyOctal) ??
    digits('', decimal) ??
    0n
  return sign === '-' ? -size : size
}

function parseFloat64(source: string): number | undefined {
  if (!float.test(source)) return undefined
  const value = Number(source.replaceAll('_', ''))
  return Number.isFinite(value) ? value : undefined
}
