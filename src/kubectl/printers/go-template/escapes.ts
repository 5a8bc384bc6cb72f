import { bytesOfText } from '../byte-text.ts'
import { isPrintable } from '../go-format.ts'

const htmlEscapes: Readonly<Record<string, string>> = {
  '\0': '\ufffd',
  '"': '&#34;',
  "'": '&#39;',
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[\0"'&<>]/g, character => htmlEscapes[character] ?? character)
}

export function escapeJavaScript(text: string): string {
  let escaped = ''
  for (const character of text) {
    if (/[\\'"]/.test(character)) escaped += `\\${character}`
    else if (/[<>&=]/.test(character) || character < ' ' || !isShown(character)) {
      escaped += `\\u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
    } else escaped += character
  }
  return escaped
}

/** A lone surrogate represents a byte that is not text. */
function isShown(character: string): boolean {
  return character <= '\u007f' || isPrintable(character) || !character.isWellFormed()
}

/** A space becomes a plus. */
export function escapeUrlQuery(text: string): string {
  let escaped = ''
  for (const byte of bytesOfText(text)) {
    const character = String.fromCharCode(byte)
    if (/[A-Za-z0-9\-_.~]/.test(character)) escaped += character
    else escaped += character === ' ' ? '+' : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return escaped
}
