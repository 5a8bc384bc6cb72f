/** Runs the tests of a phase, and says how it goes. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { readGinkgoReport } from './ginkgo-report.ts'
import type { Interrupts } from './interrupts.ts'
import { PhaseProgress } from './phase-progress.ts'
import { ginkgoReportName, suiteCommand, type SuiteRun } from './phases.ts'
import type { PhaseOutcome, TestResult } from './results.ts'
import type { Screen } from './screen.ts'

export interface SuiteOptions extends SuiteRun {
  /** Names of the tests that are to run. */
  readonly planned: readonly string[]
  /** Working folder of the suite. */
  readonly folder: string
}

/** Resolves with what there is, also when it was interrupted or the suite died. */
export async function runSuite(
  options: SuiteOptions,
  screen: Screen,
  interrupts: Interrupts,
): Promise<PhaseOutcome> {
  const { phase, planned, reportFolder, folder } = options
  const startedMs = performance.now()
  const progress = new PhaseProgress({ name: phase.name, planned, startedMs })
  const [program = '', ...parameters] = suiteCommand(options)
  const child = spawn(program, parameters, {
    cwd: folder,
    // A process group of its own: an interrupt is passed on to all its processes, once.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const log = createWriteStream(join(reportFolder, `${phase.name}.log`))
  for (const stream of [child.stdout, child.stderr]) {
    stream.pipe(log, { end: false })
    createInterface({ input: stream }).on('line', line => {
      const failed = progress.read(line, performance.now())
      if (failed !== undefined) screen.print(`FAILED ${failed}`)
    })
  }
  using _ = screen.follow(() => progress.describe(performance.now()))
  await untilEnded(child, interrupts)
  log.end()
  screen.print(progress.describe(performance.now()))
  return {
    planned,
    reported: await readReports(reportFolder, ginkgoReportName(phase)),
    printed: progress.seen,
  }
}

/** Ginkgo cleans up and reports after one interrupt, only reports after a second, and is killed then. */
async function untilEnded(child: ChildProcess, { stop, kill }: Interrupts): Promise<void> {
  const closed = once(child, 'close')
  const exited = once(child, 'exit')
  await Promise.race([exited, aborted(stop)])
  for (const signal of ['SIGINT', 'SIGINT'] as const) {
    if (!isRunning(child)) break
    signalGroup(child, signal)
    await Promise.race([exited, aborted(kill), sleep(graceMs, undefined, { ref: false })])
  }
  // A program that a test started may hold the output open when the suite has ended.
  signalGroup(child, 'SIGKILL')
  await closed
}

/** Namespaces of the tests that were running need some of it. */
const graceMs = 30_000

function aborted(signal: AbortSignal): Promise<unknown> {
  return signal.aborted ? Promise.resolve() : once(signal, 'abort')
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** A Ginkgo that was killed may leave its report under the name that it has before reports are merged. */
async function readReports(folder: string, name: string): Promise<readonly TestResult[]> {
  const names = (await readdir(folder)).filter(each => each === name || each.endsWith(`_${name}`)).sort()
  for (const each of names) {
    try {
      return readGinkgoReport(await readFile(join(folder, each), 'utf8'))
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
    }
  }
  return []
}
