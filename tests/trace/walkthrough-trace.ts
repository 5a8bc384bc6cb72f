/** The trace that docs/walkthrough.md shows and explains. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

export interface PrintedHop {
  /** `component: verb kind`, or the component of a pass that writes nothing. */
  readonly name: string
  /** Names of its steps, without details. */
  readonly steps: readonly string[]
  readonly lines: readonly string[]
}

/** In the order of the first block with a timeline. */
export function walkthroughHops(page = 'walkthrough.md'): readonly PrintedHop[] {
  const timeline = blocksOf(page).find(block => block.includes(heading))
  assert.ok(timeline, `${page} has no trace`)
  return hopsIn(timeline.slice(timeline.indexOf(heading) + heading.length))
}

/** In the blocks that repeat parts of the timeline. */
export function explainedHops(page = 'walkthrough.md'): readonly PrintedHop[] {
  return blocksOf(page)
    .filter(block => !block.includes(heading))
    .flatMap(hopsIn)
}

const heading = '    OFFSET  DURATION  HOP\n'

function blocksOf(page: string): readonly string[] {
  const text = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
  return [...text.matchAll(/^```\n(.*?)^```$/gms)].map(([, block = '']) => block)
}

function hopsIn(block: string): readonly PrintedHop[] {
  const hops: string[][] = []
  for (const line of block.trimEnd().split('\n')) {
    if (hopLine.test(line)) hops.push([line])
    else if (line.startsWith(' ')) hops.at(-1)?.push(line)
  }
  return hops.map(lines => ({ name: nameOf(lines), steps: stepsOf(lines), lines }))
}

/** Offset, duration, indentation, and the hop. */
const hopLine = /^ *\+\S+ m?s +\S+ m?s {2,}(\S.*)$/

function nameOf([line = '']: readonly string[]): string {
  const [, hop = ''] = hopLine.exec(line) ?? []
  const [, who = '', what = ''] = /^([\w-]+)(?: on \S+)?(?: \(\S+\))?: (.*)$/.exec(hop) ?? []
  const [, action] = /^(\w+ [\w/]+) \S+ @\d+$/.exec(what) ?? []
  return action === undefined ? who : `${who}: ${action}`
}

function stepsOf([, ...parts]: readonly string[]): readonly string[] {
  const [lead = ''] = parts
    .map(line => line.trim())
    .join(' ')
    .split(/(?<=^|, )request /)
  const names = lead.split(', ').map(part => part.split(' ')[0] ?? '')
  return names.filter(name => !['', 'watch', 'queue', 'pass', 'gap'].includes(name))
}
