/**
 * Transcripts of shell sessions. A line that begins with `$ ` is a command, `> ` continues it, the lines
 * after it are its expected output, and `[exit N]` is its exit code if not 0. `...` matches any text within a
 * line, and any lines on a line alone; the number of spaces, empty lines and colors are ignored. A line with
 * `# ` is a comment; `# needs 1.24` gives the required version for the next command, `# all need 1.24` for
 * all that follow, and `# eventually` repeats the next command until its output matches.
 */
import { stripVTControlCharacters } from 'node:util'

export interface Step {
  readonly line: number
  readonly command: string
  readonly expected: readonly string[]
  /** The minor version of 1.x required by the command. */
  readonly needs: number
  /** True if the command is repeated until its output matches. */
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

/** The first unexpected line of the output; undefined when it matches. */
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
