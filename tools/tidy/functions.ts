import type { SourceFile } from './source-file.ts'

/** The first and last line of a function, counted from 1, and the text of the first one. */
export interface FunctionLines {
  readonly start: number
  readonly end: number
  readonly head: string
}

/**
 * Functions with more than one line, found by the braces of their body. The head begins where its indentation
 * does.
 */
export function functionsOf({ code }: SourceFile): FunctionLines[] {
  const found: FunctionLines[] = []
  const lines = code.split('\n')
  const open: { line: number; before: string }[] = []
  lines.forEach((text, index) => {
    for (const { 0: brace, index: column } of text.matchAll(/[{}]/g)) {
      if (brace === '{') {
        open.push({ line: index, before: text.slice(0, column) })
        continue
      }
      const block = open.pop()
      if (block === undefined || block.line === index) continue
      const start = headLine(lines, block.line)
      const head = [...lines.slice(start, block.line), block.before].join('\n')
      if (isFunctionHead(head)) found.push({ start: start + 1, end: index + 1, head: lines[start]!.trim() })
    }
  })
  return found
}

/** A head of several lines ends with a line that begins with the closing bracket of its parameters. */
function headLine(lines: readonly string[], last: number): number {
  if (!/^\s*[)>\]]/.test(lines[last]!)) return last
  const indentation = lines[last]!.search(/\S/)
  let first = last - 1
  while (first > 0 && (lines[first]!.trim() === '' || lines[first]!.search(/\S/) > indentation)) first -= 1
  return first
}

const otherBlock =
  /^\s*(\} )?(if|for|while|switch|catch|try|do|else|finally|with|class|interface|namespace|declare)\b/
const otherDeclaration = /^\s*(export )?(default )?(abstract )?(class|interface|type|const enum|enum)\b/

function isFunctionHead(head: string): boolean {
  const text = head.trimEnd()
  if (text.endsWith('=>')) return true
  if (/[=(,:[?&|]$/.test(text) || otherBlock.test(text) || otherDeclaration.test(text)) return false
  return /\)(\s*:[^]+)?$/.test(text) && !/\b(if|for|while|switch|catch|await)\s*\([^()]*\)$/.test(text)
}
