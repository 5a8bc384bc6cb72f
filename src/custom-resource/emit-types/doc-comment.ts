const lineCharactersMax = 110

/** Wraps a description as a comment; empty without one. */
export function docComment(text: string, indent: string): string {
  const paragraphs = text
    .replaceAll('*/', '* /')
    .split('\n')
    .map(line => line.trimEnd())
  const lines = paragraphs.flatMap(line => wrapped(line, lineCharactersMax - indent.length - ' * '.length))
  while (lines.at(-1) === '') lines.pop()
  const [first, ...others] = lines
  if (first === undefined) return ''
  if (others.length === 0) return `${indent}/** ${first} */\n`
  const body = lines.map(line => `${indent} *${line === '' ? '' : ` ${line}`}\n`)
  return `${indent}/**\n${body.join('')}${indent} */\n`
}

/** Breaks at spaces; continued lines keep the indentation, as in lists and code. */
function wrapped(line: string, width: number): string[] {
  if (line.length <= width) return [line]
  const indent = /^\s*/.exec(line)?.[0] ?? ''
  const lines: string[] = []
  let current = indent
  for (const word of line.trimStart().split(' ')) {
    const longer = current === indent ? current + word : `${current} ${word}`
    if (longer.length > width && current !== indent) {
      lines.push(current)
      current = indent + word
    } else {
      current = longer
    }
  }
  return [...lines, current]
}
