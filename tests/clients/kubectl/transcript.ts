/**
 * Transcripts of shell sessions. A line that begins with `$ ` is a command, `> ` continues it, the lines after it
 * are its expected output, and `[exit N]` is its exit code if not 0. `...` matches any text within a line, and any
 * lines on a line alone. Empty lines and colors are ignored, and the number of spaces, unless the transcript has a
 * line `# exact`, and in lines with `...`, since the columns after an age depend on its length. Other lines with `#
 * ` are comments and settings: `# needs 1.24` gives the version of kubectl required for the next command, `# all
 * need 1.24` for all that follow, `# eventually` repeats the next command until its output matches, `# cluster
 * simulated` at the beginning asks for a cluster with simulated nodes, and `# cluster own` for one that no other
 * transcript changes.
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
  /** True if the number of spaces matters. */
  readonly isExact: boolean
}

/** Settings of a whole transcript. */
export interface TranscriptSettings {
  /** The number of spaces matters. */
  readonly isExact: boolean
  readonly hasSimulatedNodes: boolean
  /** No other transcript runs on its cluster. */
  readonly hasOwnCluster: boolean
}

export function transcriptSettings(text: string): TranscriptSettings {
  const lines = text.split('\n')
  return {
    isExact: lines.includes('# exact'),
    hasSimulatedNodes: lines.includes('# cluster simulated'),
    hasOwnCluster: lines.includes('# cluster own'),
  }
}

export function parseTranscript(text: string): readonly Step[] {
  const { isExact } = transcriptSettings(text)
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
      steps.push({
        line: index + 1,
        command,
        expected: [],
        needs: Math.max(needs, allNeed),
        isEventual,
        isExact,
      })
      needs = 0
      isEventual = false
    } else if (line.startsWith('> ') || line === '>') {
      if (last === undefined) throw new Error(`line ${index + 1} continues nothing`)
      last.command += `\n${line.slice(2)}`
    } else if (line.trim() !== '') {
      if (last === undefined) throw new Error(`line ${index + 1} is printed by nothing`)
      last.expected.push(normalize(line, isExact))
    }
  }
  return steps
}

/** The first unexpected line of the output; undefined when it matches. */
export function firstDifference(
  { expected, isExact }: Pick<Step, 'expected' | 'isExact'>,
  printed: string,
): string | undefined {
  const lines = printed
    .split('\n')
    .map(line => normalize(line, isExact))
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

function normalize(line: string, isExact: boolean): string {
  const text = stripVTControlCharacters(line)
  return isExact ? text.trimEnd() : text.trim().replaceAll(/\s+/g, ' ')
}

function matches(pattern: string, exactLine: string): boolean {
  if (!pattern.includes('...')) return exactLine === pattern
  const [start = '', ...parts] = normalize(pattern, false).split('...')
  const line = normalize(exactLine, false)
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
