/** The syntax of a Corefile: server blocks of plugins, which have words in their line and a block of lines. */
export interface Directive {
  /** From 1. */
  readonly line: number
  readonly name: string
  readonly words: readonly string[]
  readonly block: readonly Directive[]
}

/** `name` and `words` of a server block are its zones. */
export type ServerBlockText = Directive

export class CorefileError extends Error {
  readonly line: number

  constructor(line: number, reason: string) {
    super(reason)
    this.line = line
  }
}

interface Line {
  readonly number: number
  readonly words: readonly string[]
}

/** A server block contains plugins, whose blocks contain lines. */
const depthMax = 3

/** Throws CorefileError. */
export function parseServerBlocks(text: string): readonly ServerBlockText[] {
  const lines = text
    .split('\n')
    .map((line, index): Line => ({ number: index + 1, words: splitWords(line, index + 1) }))
  const open: { readonly head: Line; readonly block: Directive[] }[] = []
  const blocks: Directive[] = []
  for (const line of lines) {
    const { number, words } = line
    if (words.length === 0) continue
    if (words[0] === '}') {
      const closed = open.pop()
      if (closed === undefined) throw new CorefileError(number, 'unexpected }')
      if (words.length > 1) throw new CorefileError(number, 'expected a new line after }')
      ;(open.at(-1)?.block ?? blocks).push(directiveOf(closed.head, closed.block))
    } else if (words.at(-1) === '{') {
      if (words.length === 1) throw new CorefileError(number, 'unexpected {')
      if (open.length + 1 >= depthMax) throw new CorefileError(number, 'unexpected {: blocks are too deep')
      open.push({ head: { number, words: words.slice(0, -1) }, block: [] })
    } else {
      const parent = open.at(-1)
      if (parent === undefined)
        throw new CorefileError(number, `expected { after ${JSON.stringify(words.at(-1))}`)
      parent.block.push(directiveOf(line, []))
    }
  }
  const unclosed = open.at(-1)
  if (unclosed) throw new CorefileError(unclosed.head.number, 'the block has no }')
  if (blocks.length === 0) throw new CorefileError(1, 'there is no server block')
  return blocks
}

function directiveOf(
  { number: line, words: [name = '', ...words] }: Line,
  block: readonly Directive[],
): Directive {
  return { line, name, words, block }
}

/** Words are separated by spaces or quoted; `#` begins a comment. */
function splitWords(text: string, line: number): readonly string[] {
  const words: string[] = []
  const pattern = /\s*(?:"((?:[^"\\]|\\.)*)"(?=\s|$)|([^\s"#][^\s]*)|(#.*)|(\S))/gy
  for (const [, quoted, plain, , wrong] of text.trimEnd().matchAll(pattern)) {
    if (wrong !== undefined) throw new CorefileError(line, 'a quotation mark is not closed')
    if (quoted !== undefined) words.push(quoted.replaceAll(/\\(["\\])/g, '$1'))
    else if (plain !== undefined) words.push(plain)
  }
  const variable = words.find(word => /\{\$.*\}|\{%.*%\}/.test(word))
  if (variable) throw new CorefileError(line, `environment variables are not supported: ${variable}`)
  return words
}
