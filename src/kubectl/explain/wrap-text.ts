/**
 * Breaks lines at spaces so that they have at most `width` characters, unless a word is longer. All other spaces
 * and line breaks are kept; a no-break space is part of a word.
 */
export function wrapText(text: string, width: number): string {
  return text
    .split('\n')
    .map(line => wrapLine(line, width))
    .join('\n')
}

const piece = /([^\S\u00A0]*)([\S\u00A0]*)/y

function wrapLine(line: string, width: number): string {
  let wrapped = ''
  let column = 0
  piece.lastIndex = 0
  for (let match = piece.exec(line); match !== null && match[0] !== ''; match = piece.exec(line)) {
    const [, space = '', word = ''] = match
    const end = column + space.length + length(word)
    if (word === '') return end > width ? wrapped : wrapped + space
    // A word that does not fit on any line stays where it is only at the beginning of one.
    const isBroken = end > width && (length(word) < width || column + space.length > 1)
    wrapped += isBroken ? `\n${word}` : space + word
    column = isBroken ? length(word) : end
  }
  return wrapped
}

/** In characters, not UTF-16 units. */
function length(text: string): number {
  return Array.from(text).length
}

/** Puts spaces in front of each line, also of empty ones. */
export function indentText(text: string, columns: number): string {
  const margin = ' '.repeat(columns)
  return margin + text.replaceAll('\n', `\n${margin}`)
}

/**
 * Fills lines with words up to `width` characters. Empty lines, code that is indented by four spaces, list items
 * and line breaks after a colon are kept.
 */
export function wrapParagraphs(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let words: string[] = []
  let lastWord = ''
  const flush = (): void => {
    if (words.length > 0) lines.push(words.join(' '))
    words = []
  }
  for (const line of text.split('\n')) {
    if (line.startsWith('    ')) {
      flush()
      lastWord = ''
      lines.push(line)
      continue
    }
    const isEmpty = line.trim() === ''
    if (isEmpty && (lines.length > 0 || words.length > 0)) {
      const isFirst = lines.length === 0
      flush()
      lastWord = ''
      if (!isFirst) lines.push('')
      continue
    }
    if (isEmpty || lastWord.endsWith(':') || /^\s*(?:\d+\.?|-|\*)\s/.test(line)) flush()
    for (const word of line.split(/\s+/).filter(Boolean)) {
      lastWord = word
      const length = [...words, word].join(' ').length
      if (words.length > 0 && length > width) flush()
      words.push(word)
    }
  }
  flush()
  return lines
}
