/**
 * Returns the source with comments and the contents of strings, templates and regular expressions replaced by
 * blanks. All other characters keep their position, so that searches find only code and positions are valid
 * in both texts.
 */
export function blankOut(source: string): string {
  const parts: string[] = []
  /**
   * The last token that is not white space: it determines if a slash is a division or begins a regular
   * expression.
   */
  let previous = ''
  let depth = 0
  /** The brace depths at which the expressions of open templates end. */
  const templates: number[] = []
  for (let position = 0; position < source.length;) {
    let text = take(token, source, position)
    if (text === '/' && beginsExpression(previous)) text = take(regularExpression, source, position) || text
    else if (text === '{') depth += 1
    else if (text === '}' && templates.at(-1) === depth) {
      templates.pop()
      text = take(templatePart, source, position)
    } else if (text === '}') depth -= 1
    else if (text === '`') text = take(templatePart, source, position)
    if ((text.startsWith('`') || text.startsWith('}')) && text.endsWith('${')) templates.push(depth)
    parts.push(shown(text))
    if (text.trim() !== '' && !isComment(text)) previous = text
    position += text.length
  }
  return parts.join('')
}

const token = /\/\/.*|\/\*[^]*?\*\/|'(?:\\[^]|[^'\\\n])*'|"(?:\\[^]|[^"\\\n])*"|[\w$]+|\s+|[^]/y
const regularExpression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y
/**
 * From a backtick, or the brace that ends an expression, to the next backtick or the start of an expression.
 */
const templatePart = /[`}](?:\\[^]|\$(?!\{)|[^\\`$])*(?:`|\$\{)/y

function take(pattern: RegExp, source: string, position: number): string {
  pattern.lastIndex = position
  return pattern.exec(source)?.[0] ?? source.charAt(position)
}

/** Keywords after which a value follows. */
const operators: ReadonlySet<string> = new Set([
  'return',
  'typeof',
  'case',
  'in',
  'of',
  'delete',
  'void',
  'throw',
  'new',
  'await',
  'yield',
  'else',
])

function beginsExpression(previous: string): boolean {
  // The slash of a closing tag of JSX.
  if (previous === '<') return false
  return operators.has(previous) || !/[\w$)\]}'"`]$/.test(previous)
}

function isComment(text: string): boolean {
  return text.startsWith('//') || text.startsWith('/*')
}

function shown(text: string): string {
  if (text.length < 2 || /^[\w$\s]/.test(text)) return text
  if (isComment(text)) return blanks(text)
  const end = /(?:\$\{|\/[a-z]*|.)$/.exec(text)![0].length
  return text.charAt(0) + blanks(text.slice(1, -end)) + text.slice(-end)
}

function blanks(text: string): string {
  return text.replaceAll(/[^\n]/g, ' ')
}
