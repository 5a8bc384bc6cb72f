/** A piece of a line with the same look. */
export interface LogSegment {
  readonly text: string
  /** `ansi-31`: class names, made of numbers only. */
  readonly classes: readonly string[]
}

/** Characters of a line that are shown. */
const lineCharactersMax = 10_000
/** CSI sequences; OSC sequences; DCS, PM and APC sequences; other escapes; CSI in one character. */
const escapes = new RegExp(
  [
    String.raw`\x1B\[([0-?]*)[ -/]*([@-~])`,
    String.raw`\x1B\][^\x07\x1B]*(?:\x07|\x1B\\|$)`,
    String.raw`\x1B[PX^_][^\x1B]*(?:\x1B\\|$)`,
    String.raw`\x1B[ -/]*[0-~]`,
    String.raw`\x9B[0-?]*[ -/]*[@-~]`,
  ].join('|'),
  'g',
)
// oxlint-disable-next-line no-control-regex -- these characters are looked for
const controls = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u200B-\u200F\u202A-\u202E\u2060-\u206F\uFEFF]/g

/**
 * The text of a line of a log with its colours. All other escape sequences, control characters, and characters that
 * change the direction of text are removed: a log is the output of a program that is not trusted.
 */
export function parseAnsi(line: string): LogSegment[] {
  const text = line.slice(0, lineCharactersMax)
  const segments: LogSegment[] = []
  let classes: readonly string[] = []
  const add = (piece: string): void => {
    const clean = piece.replaceAll('\t', '    ').replaceAll(controls, '')
    if (clean !== '') segments.push({ text: clean, classes })
  }
  let end = 0
  for (const match of text.matchAll(escapes)) {
    add(text.slice(end, match.index))
    end = match.index + match[0].length
    if (match[2] === 'm') classes = afterGraphics(classes, match[1] ?? '')
  }
  add(text.slice(end))
  return segments
}

/** SGR: 30 to 37 and 90 to 97 are colours, 1 is bold, 0 resets. Colours with parameters of their own are ignored. */
function afterGraphics(classes: readonly string[], parameters: string): readonly string[] {
  let colour = classes.find(each => each !== 'ansi-1')
  let isBold = classes.includes('ansi-1')
  const codes = parameters.split(/[;:]/).map(Number)
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0
    if (code === 0) {
      colour = undefined
      isBold = false
    } else if (code === 1) isBold = true
    else if (code === 22) isBold = false
    else if (code === 39) colour = undefined
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) colour = `ansi-${code}`
    else if (code === 38 || code === 48) at += codes[at + 1] === 5 ? 2 : 4
  }
  return [...(isBold ? ['ansi-1'] : []), ...(colour === undefined ? [] : [colour])]
}

/** Without colours. */
export function plainText(line: string): string {
  return parseAnsi(line)
    .map(({ text }) => text)
    .join('')
}

/** Cuts a line into rows of a number of columns. */
export function wrapSegments(segments: readonly LogSegment[], columns: number): LogSegment[][] {
  let row: LogSegment[] = []
  const rows = [row]
  let used = 0
  for (const { text, classes } of segments) {
    let piece = ''
    for (const character of text) {
      const width = isWide(character) ? 2 : 1
      if (used + width > columns && used > 0) {
        if (piece !== '') row.push({ text: piece, classes })
        piece = ''
        used = 0
        row = []
        rows.push(row)
      }
      piece += character
      used += width
    }
    if (piece !== '') row.push({ text: piece, classes })
  }
  return rows
}

/** East Asian wide characters and emoji take two columns. */
function isWide(character: string): boolean {
  return wide.test(character)
}

const wide = new RegExp(
  String.raw`[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6` +
    String.raw`\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]`,
  'u',
)
