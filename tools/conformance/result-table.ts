/** Results for the terminal: every failure with its message, then figures by special interest group. */
import { isFailure, type Results, type TestResult, type TestState } from './results.ts'

export function resultTable({ tests, seconds }: Pick<Results, 'tests' | 'seconds'>): string {
  const failures = tests.filter(({ state }) => state === 'failed' || state === 'interrupted')
  const parts = failures.map(({ name, state, message = '' }) => {
    const lines = message.split('\n').filter(line => line.trim() !== '')
    const shown = lines.slice(0, messageLinesShown).map(line => `    ${line}\n`)
    return `${state === 'failed' ? 'FAILED' : 'INTERRUPTED'} ${name}\n${shown.join('')}`
  })
  const figures = writeRows(rowsOf(tests))
  return [...parts, failures.length > 0 ? '\n' : '', figures, `\nelapsed: ${seconds} s\n`].join('')
}

const messageLinesShown = 6

export interface SigFigures {
  readonly sig: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** Stopped by an interrupt, or never begun. */
  readonly notRun: number
  /** Of all tests together, though several run at the same time. */
  readonly seconds: number
}

/** By name; the last is the total. */
export function figuresBySig(tests: readonly TestResult[]): readonly SigFigures[] {
  const groups = [...Map.groupBy(tests, ({ sig }) => sig)].sort(([left], [right]) => (left < right ? -1 : 1))
  return [...groups.map(([sig, those]) => figuresOf(sig, those)), figuresOf('total', tests)]
}

function figuresOf(sig: string, tests: readonly TestResult[]): SigFigures {
  const count = (...states: readonly TestState[]): number =>
    tests.filter(({ state }) => states.includes(state)).length
  return {
    sig,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    notRun: count('interrupted', 'not-run'),
    seconds: tests.reduce((sum, { seconds = 0 }) => sum + seconds, 0),
  }
}

function rowsOf(tests: readonly TestResult[]): readonly (readonly string[])[] {
  const figures = figuresBySig(tests)
  const hasGaps = tests.some(({ state }) => isFailure(state) && state !== 'failed')
  const row = (each: SigFigures): readonly string[] => [
    each.sig,
    ...[each.passed, each.failed, each.skipped].map(String),
    ...(hasGaps ? [String(each.notRun)] : []),
    each.seconds.toFixed(0),
  ]
  const head = ['', 'passed', 'failed', 'skipped', ...(hasGaps ? ['not run'] : []), 'seconds']
  return [head, ...figures.map(row)]
}

function writeRows(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)))
  const lines = rows.map(row =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))),
  )
  return lines.map(cells => `${cells.join('  ').trimEnd()}\n`).join('')
}
