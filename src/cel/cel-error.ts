/**
 * Compile errors of an expression. The message is cel-go's, line for line, since clients and tests match on
 * it: position, message, source line and a caret below it.
 */

/** A compile error at an offset of the source in UTF-16 units; an undefined offset means the whole source. */
export interface Issue {
  readonly offset: number | undefined
  readonly message: string
}

export class CelError extends Error {
  readonly issues: readonly Issue[]

  constructor(source: string, issues: readonly Issue[]) {
    super(showIssues(source, issues))
    this.name = 'CelError'
    this.issues = issues
  }
}

/** Maximum number of issues in a message. */
const shownIssuesMax = 100
/** Longer source lines are not shown. */
const shownLineMax = 16_384

function showIssues(source: string, issues: readonly Issue[]): string {
  const inOrder = issues.toSorted((a, b) => (a.offset ?? -1) - (b.offset ?? -1))
  const shown = inOrder.slice(0, shownIssuesMax).map(issue => showIssue(source, issue))
  const hidden = issues.length - shown.length
  if (hidden > 0) shown.push(`${hidden} more errors were truncated`)
  return shown.join('\n')
}

function showIssue(source: string, { offset, message }: Issue): string {
  if (offset === undefined) return `ERROR: <input>:-1:0: ${message}`
  // An empty source has no line to show.
  if (source === '') return `ERROR: <input>:1:0: ${message}`
  const lineStart = source.lastIndexOf('\n', offset - 1) + 1
  const lineEnd = source.indexOf('\n', lineStart)
  const line = source.slice(lineStart, lineEnd === -1 ? undefined : lineEnd)
  const before = Array.from(source.slice(lineStart, offset))
  const number = countLines(source, lineStart)
  const head = `ERROR: <input>:${number}:${before.length + 1}: ${message}`
  if (line.length > shownLineMax) return head
  const [at = ''] = line.slice(offset - lineStart)
  const dots = before.map(character => (isWide(character) ? '\uff0e' : '.')).join('')
  return `${head}\n | ${line.replaceAll('\t', ' ')}\n | ${dots}${isWide(at) ? '\uff3e' : '^'}`
}

function countLines(source: string, end: number): number {
  let count = 1
  for (let at = source.indexOf('\n'); at !== -1 && at < end; at = source.indexOf('\n', at + 1)) count++
  return count
}

function isWide(character: string): boolean {
  return (character.codePointAt(0) ?? 0) > 0x7f
}
