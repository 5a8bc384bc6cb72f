/** Strings as sequences of code points: JavaScript counts and orders UTF-16 units, CEL code points. */

const surrogate = /[\ud800-\udfff]/

/** Number of characters, where a surrogate pair is one. */
export function countCharacters(text: string): number {
  if (!surrogate.test(text)) return text.length
  let count = 0
  for (let at = 0; at < text.length; at += widthAt(text, at)) count++
  return count
}

/** The characters from index `start` to `end`. */
export function sliceCharacters(text: string, start: number, end?: number): string {
  return text.slice(unitOf(text, start), end === undefined ? undefined : unitOf(text, end))
}

/** The index of the character at a UTF-16 unit. */
export function characterAt(text: string, unit: number): number {
  return unit <= 0 ? unit : countCharacters(text.slice(0, unit))
}

/** The UTF-16 unit at which a character begins. */
export function unitOf(text: string, character: number): number {
  if (!surrogate.test(text)) return character
  let at = 0
  for (let count = 0; count < character && at < text.length; count++) at += widthAt(text, at)
  return at
}

/** Negative, zero or positive, in code point order. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  let at = 0
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  if (at === length) return a.length - b.length
  return rank(a.charCodeAt(at)) - rank(b.charCodeAt(at))
}

/** Surrogates encode characters above all others, although larger units exist. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
}
