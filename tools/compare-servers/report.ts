/** The lines of the report, and the answers to one request side by side. Pure. */
import { writeDifference } from '../compare-api/compare-values.ts'
import type { Comparison } from './pair.ts'
import type { NormalAnswer } from './answers/compare-answers.ts'
import { textOf } from './request.ts'
import { classesOf } from './summary.ts'

/** More differences of one answer are counted only. */
const differencesMax = 40
const valueCharactersMax = 600
const columnWidth = 70

export function reportLine({ request, sent, ours, theirs, differences }: Comparison): string {
  const shown = differences.slice(0, differencesMax).map(each => ({
    ...each,
    ours: shortened(each.ours),
    theirs: shortened(each.theirs),
  }))
  const { id, resource } = request
  const line = {
    id,
    resource,
    classes: classesOf(differences),
    status: [ours.status, theirs.status],
    differences: shown,
    count: differences.length,
    request: { ...sent, ...(sent.body && { body: { ...sent.body, content: textOf(sent.body) } }) },
  }
  return `${write(line)}\n`
}

/** Both answers as lines next to each other, and the differences below. */
export function sideBySide({ request, sent, ours, theirs, differences }: Comparison): string {
  const [left, right] = [linesOf(ours), linesOf(theirs)]
  const rows = Array.from({ length: Math.max(left.length, right.length) }, (_, at) => {
    const [one = '', other = ''] = [left[at], right[at]]
    const column = one.slice(0, columnWidth).padEnd(columnWidth)
    return `${column} ${one === other ? ' ' : '|'} ${other.slice(0, columnWidth)}`
  })
  const body = sent.body ? `\n${sent.body.mediaType}: ${textOf(sent.body)}` : ''
  return [
    `${request.id}\n${sent.method} ${sent.path} ${JSON.stringify(sent.headers)}${body}\n`,
    ...rows,
    '',
    ...differences.map(each => `${each.class}: ${writeDifference(each)}`),
    differences.length === 0 ? 'no differences\n' : '',
  ].join('\n')
}

function linesOf({ status, headers, warnings, body }: NormalAnswer): readonly string[] {
  const heads = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const text = typeof body === 'string' ? body : write(body, 2)
  return [String(status), ...heads, ...warnings.map(text => `warning: ${text}`), '', ...text.split('\n')]
}

function shortened(value: unknown): unknown {
  const text = write(value)
  return text !== undefined && text.length > valueCharactersMax
    ? `${text.slice(0, valueCharactersMax)}...`
    : value
}

function write(value: unknown, indentation?: number): string {
  return JSON.stringify(
    value,
    (_, each: unknown) => (typeof each === 'bigint' ? String(each) : each),
    indentation,
  )
}
