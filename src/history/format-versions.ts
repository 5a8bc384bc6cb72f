/** The output of `k8ts history`. */
import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import { humanDuration } from '#/api/text/duration.ts'
import {
  changesOf,
  describeAuthor,
  describeVerb,
  summarizeVersion,
  type VersionStep,
} from './describe-version.ts'
import { changesMax } from './diff-objects.ts'
import { formatFieldChange } from './format-field-change.ts'

/** One line for each version. */
export function formatVersionTable(steps: readonly VersionStep[], nowMs: number): string {
  const rows = steps.map(step => {
    const { revision, time, origin } = step.version
    const age = ageOf(time, nowMs)
    return [String(revision), age, describeAuthor(origin), describeVerb(origin), summarizeVersion(step)]
  })
  return formatColumns([['REVISION', 'AGE', 'WHO', 'VERB', 'CHANGES'], ...rows])
}

/** All changed fields of each version. */
export function formatVersionChanges(steps: readonly VersionStep[], nowMs: number): string {
  return steps
    .map(step => {
      const { revision, time, origin, type } = step.version
      const verb = describeVerb(origin)
      const author = describeAuthor(origin)
      const head = `revision ${revision}, ${time} (${ageOf(time, nowMs)} ago): ${verb} by ${author}`
      const changes = changesOf(step)
      const lines = changes.map(formatFieldChange)
      if (changes.length === 0 || type !== 'MODIFIED') lines.unshift(summarizeVersion(step))
      if (changes.length >= changesMax) lines.push('...')
      return [escapeControlCharacters(head), ...lines.map(line => `  ${line}`)].join('\n')
    })
    .map(text => `${text}\n`)
    .join('\n')
}

/** Columns with three spaces between them. Cells come from the cluster. */
function formatColumns(rows: readonly (readonly string[])[]): string {
  const shown = rows.map(row => row.map(escapeControlCharacters))
  const widths: number[] = []
  for (const row of shown) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, Math.min(cell.length, widthMax))
    })
  }
  const lines = shown.map(row =>
    row.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column]!))).join('   '),
  )
  return lines.map(line => `${line.trimEnd()}\n`).join('')
}

/** A longer cell moves the rest of its own line only. */
const widthMax = 60

function ageOf(time: string, nowMs: number): string {
  return humanDuration(Math.max(0, nowMs - Date.parse(time)))
}
