/** Strings as sequences of characters: JavaScript counts and orders UTF-16 units, CEL counts and orders characters. */

const surrogate = /[\ud800-\udfff]/

/** Characters, where each pair of surrogates is one. */
export function countCharacters(text: string): number {
  if (!surrogate.test(text)) return text.length
  let count = 0
  for (let at = 0; at < text.length; at += widthAt(text, at)) count++
  return count
}

/** The characters from one number to another. */
export function sliceCharacters(text: string, start: number, end?: number): string {
  return text.slice(unitOf(text, start), end === undefined ? undefined : unitOf(text, end))
}

/** The number of the character that a unit belongs to. */
export function characterAt(text: string, unit: number): number {
  return unit <= 0 ? unit : countCharacters(text.slice(0, unit))
}

/** The unit at which a character begins. */
export function unitOf(text: string, character: number): number {
  if (!surrogate.test(text)) return character
  let at = 0
  for (let count = 0; count < character && at < text.length; count++) at += widthAt(text, at)
  return at
}

/** Negative, zero or positive, by code points. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  let at = 0
  while (at < length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  if (at === length) return a.length - b.length
  return rank(a.charCodeAt(at)) - rank(b.charCodeAt(at))
}

/** Surrogates stand for characters beyond all others, though units above them exist. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1
}
