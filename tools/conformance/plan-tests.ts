import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { UsageError } from '#/base/flags.ts'
import { readGinkgoReport } from './ginkgo-report.ts'
import { listCommand, planPhases, type Phase } from './phases.ts'
import type { RunRequest } from './request.ts'

export interface PlannedPhase {
  readonly phase: Phase
  /** Names of the tests that are to run; at least one. */
  readonly planned: readonly string[]
}

export interface PlanTestsOptions {
  readonly request: RunRequest
  /** Absent: there is no Ginkgo. */
  readonly ginkgo?: string
  /** For files that are needed for a moment. */
  readonly folder: string
}

/** Asks the suite which tests a run would have, without a cluster. Throws UsageError when there are none. */
export async function planTests({ request, ginkgo, folder }: PlanTestsOptions): Promise<PlannedPhase[]> {
  const { suite, labels, focus, processes } = request
  const phases: PlannedPhase[] = []
  const options = {
    processes,
    ...(ginkgo !== undefined && { ginkgo }),
    ...(labels !== undefined && { labels }),
  }
  for (const phase of planPhases(options)) {
    const planned = await listTests(request, phase, folder)
    if (planned.length > 0) phases.push({ phase, planned })
  }
  if (phases.length > 0) return phases
  throw new UsageError(
    focus === undefined
      ? `--suite ${suite}: no test in it matches the labels ${labels ?? 'Conformance'}; use v1.29 or later`
      : `--focus ${focus}: no test with the labels ${labels ?? 'Conformance'} matches`,
  )
}

async function listTests(
  { suite, focus }: RunRequest,
  phase: Phase,
  folder: string,
): Promise<readonly string[]> {
  const report = join(folder, `${phase.name}-tests.json`)
  const chosen = { phase, ...(focus !== undefined && { focus }) }
  const [program = '', ...parameters] = listCommand({ suite, report, ...chosen })
  const options = { cwd: folder, timeout: listTimeoutMs, maxBuffer: outputBytesMax }
  try {
    await promisify(execFile)(program, parameters, options)
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string }
    const said = `${stdout}${stderr}`.trim().split('\n').slice(-linesShown).join('\n')
    throw new UsageError(`cannot list the tests of ${suite}: ${said}`, { cause: error })
  }
  return readGinkgoReport(await readFile(report, 'utf8')).map(({ name }) => name)
}

/** It takes five seconds on two slow cores. */
const listTimeoutMs = 120_000
/** A character for each of thousands of tests, in colours. */
const outputBytesMax = 2 ** 26
const linesShown = 5
