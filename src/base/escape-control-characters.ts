/**
 * Escapes the characters of foreign text that a terminal would act on: C0, DEL and C1, separators of lines, marks of
 * direction and of no width, lone surrogates.
 */
export function escapeControlCharacters(text: string): string {
  return text.replaceAll(unsafe, escapeOf)
}

const unsafe = /[\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]/gu

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  return `\\u${code.toString(16).padStart(4, '0')}`
}
