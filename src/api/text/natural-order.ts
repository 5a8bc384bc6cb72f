/**
 * Natural sort order of names: `web-2` before `web-10`. Digits at the same position compare as numbers,
 * non-letters sort before letters, and letters compare by code, so capitals come first.
 */
export function compareNaturally(a: string, b: string): number {
  let at = 0
  while (at < a.length && at < b.length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  if (at === a.length || at === b.length) return a.length - b.length
  const left = a.charCodeAt(at)
  const right = b.charCodeAt(at)
  const leftIsLetter = isLetter(a, at)
  const rightIsLetter = isLetter(b, at)
  if (leftIsLetter !== rightIsLetter) return leftIsLetter ? 1 : -1
  if (leftIsLetter) return left - right
  return compareNumbers(a, b, at) || left - right
}

function compareNumbers(a: string, b: string, start: number): number {
  const left = digitsAt(a, start)
  const right = digitsAt(b, start)
  if (left === '' && right === '') return 0
  // After the first digits of a number, as in `100` and `12`, a zero is an ordinary digit.
  const insideNumber = /[1-9][0-9]*$/.test(a.slice(Math.max(0, start - numberLengthMax), start))
  const lead = insideNumber && (left.startsWith('0') || right.startsWith('0')) ? '1' : ''
  return Number(lead + left) - Number(lead + right) || left.length - right.length
}

/** Maximum number of digits considered; longer sequences are hashes, not numbers. */
const numberLengthMax = 18

function digitsAt(text: string, start: number): string {
  let end = start
  while (end < text.length && end - start < numberLengthMax && isDigit(text.charCodeAt(end))) end++
  return text.slice(start, end)
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

const letter = /^\p{L}$/u

function isLetter(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < 0x80) return (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a
  return letter.test(String.fromCodePoint(text.codePointAt(at) ?? 0))
}
