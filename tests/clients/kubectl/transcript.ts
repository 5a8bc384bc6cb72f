/**
 * Sessions with a shell as people write them down. A line that begins with `$ ` is a command, lines with `> `
 * continue it, what follows is what it prints, and `[exit N]` how it ends when that is not well. Within a line
 * `...` stands for any text, on a line of its own for any lines; how many spaces there are does not matter, and
 * empty lines and colours do not. A line with `# ` is a remark; `# needs 1.24` says which version of the program
 * the next command takes, `# all need 1.24` all that follow, and `# eventually` that the next command is to be
 * repeated until it prints what follows it.
 */
import { stripVTControlCharacters } from 'node:util'

export interface Step {
  readonly line: number
  readonly command: string
  readonly expected: readonly string[]
  /** The minor version of 1.x that knows the command. */
  readonly needs: number
  /** Whether it may print something else at first. */
  readonly isEventual: boolean
}

export function parseTranscript(text: string): readonly Step[] {
  const steps: (Step & { command: string; expected: string[] })[] = []
  let allNeed = 0
  let needs = 0
  let isEventual = false
  for (const [index, line] of text.split('\n').entries()) {
    const last = steps.at(-1)
    if (line.startsWith('# ')) {
      allNeed = Number(/^# all need 1\.(\d+)/.exec(line)?.[1] ?? allNeed)
      needs = Number(/^# needs 1\.(\d+)/.exec(line)?.[1] ?? needs)
      isEventual ||= line === '# eventually'
    } else if (line.startsWith('$ ')) {
      const command = line.slice(2)
      steps.push({ line: index + 1, command, expected: [], needs: Math.max(needs, allNeed), isEventual })
      needs = 0
      isEventual = false
    } else if (line.startsWith('> ') || line === '>') {
      if (last === undefined) throw new Error(`line ${index + 1} continues nothing`)
      last.command += `\n${line.slice(2)}`
    } else if (line.trim() !== '') {
      if (last === undefined) throw new Error(`line ${index + 1} is printed by nothing`)
      last.expected.push(normalize(line))
    }
  }
  return steps
}

/** The first line that a command printed and that is not expected; undefined when it printed what it should. */
export function firstDifference(expected: readonly string[], printed: string): string | undefined {
  const lines = printed
    .split('\n')
    .map(normalize)
    .filter(line => line !== '')
  let next = 0
  for (const [index, pattern] of expected.entries()) {
    if (pattern !== '...') {
      const line = lines[next++]
      if (line === undefined) return `nothing, but expected: ${pattern}`
      if (!matches(pattern, line)) return line
      continue
    }
    const until = expected[index + 1]
    if (until === undefined) return undefined
    const found = lines.findIndex((line, at) => at >= next && matches(until, line))
    if (found === -1) return `nothing like: ${until}`
    next = found
  }
  return lines[next]
}

function normalize(line: string): string {
  return stripVTControlCharacters(line).trim().replaceAll(/\s+/g, ' ')
}

function matches(pattern: string, line: string): boolean {
  const [start = '', ...parts] = pattern.split('...')
  if (parts.length === 0) return line === pattern
  const end = parts.pop() ?? ''
  if (!line.startsWith(start) || !line.endsWith(end) || line.length < start.length + end.length) return false
  let at = start.length
  for (const part of parts) {
    const found = line.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return at <= line.length - end.length
}
