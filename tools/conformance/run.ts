/** A whole run: checks, a cluster with its images, both phases, results. */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeBuild, describeMachine } from './environment.ts'
import type { Interrupts } from './interrupts.ts'
import { planTests, type PlannedPhase } from './plan-tests.ts'
import { findPrograms, type Programs } from './programs.ts'
import { RegistryAddress } from './registry-address.ts'
import { Registry } from './registry.ts'
import type { RunRequest } from './request.ts'
import { resultTable } from './result-table.ts'
import { isSuccess, mergeOutcomes, type PhaseOutcome, type Results, type TestResult } from './results.ts'
import { runSuite } from './run-suite.ts'
import type { Screen } from './screen.ts'
import { SuiteCluster } from './suite-cluster.ts'
import { prepareReportFolder, writeReports } from './write-reports.ts'

/** Resolves with the exit code. Throws UsageError, before anything is started, when something is missing. */
export async function run(request: RunRequest, screen: Screen, interrupts: Interrupts): Promise<number> {
  const programs = await findPrograms(request, process.env['PATH'] ?? '')
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-conformance-'))
  const clusterFolder = join(folder, 'cluster')
  try {
    const phases = await planTests({ request, folder, ...programs })
    const { runtime, nodes = 1 } = request
    const isShared = runtime === 'containerd' && nodes > 1
    await using shared = isShared ? await RegistryAddress.add() : undefined
    await using registry = await Registry.start(programs.images, shared?.address)
    if (programs.ginkgo === undefined) {
      screen.print('no ginkgo was found: one test runs at a time; see --ginkgo')
    }
    await prepareReportFolder(request.report)
    return await runPhases({ request, programs, folder, clusterFolder, phases, registry, screen, interrupts })
  } finally {
    // A cluster that could not be removed may have mounts in its folder, which must not be emptied.
    if (await hasMounts(folder)) screen.print(`remove the rest with k8ts down --data-dir ${clusterFolder}`)
    else await rm(folder, { recursive: true, force: true })
  }
}

async function hasMounts(folder: string): Promise<boolean> {
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '')
  return mounts.split('\n').some(line => line.split(' ')[1]?.startsWith(`${folder}/`))
}

interface RunContext {
  readonly request: RunRequest
  readonly programs: Programs
  readonly folder: string
  readonly clusterFolder: string
  readonly phases: readonly PlannedPhase[]
  readonly registry: Registry
  readonly screen: Screen
  readonly interrupts: Interrupts
}

async function runPhases(context: RunContext): Promise<number> {
  const { request, phases, screen, interrupts } = context
  const startedMs = Date.now()
  const outcomes: PhaseOutcome[] = []
  let isClean = true
  try {
    await runInCluster(context, outcome => outcomes.push(outcome))
  } catch (error) {
    // What is known of tests is not lost because a cluster could not be removed.
    if (outcomes.length === 0 && !interrupts.stop.aborted) throw error
    isClean = interrupts.stop.aborted
    screen.print(error instanceof Error ? error.message : String(error))
  }
  const rest = phases.slice(outcomes.length).map(({ planned }) => ({ planned, reported: [], printed: [] }))
  const results = await describeRun(context, startedMs, mergeOutcomes([...outcomes, ...rest]))
  const path = await writeReports(request.report, results)
  screen.print(`\n${resultTable(results)}results: ${path}`)
  if (results.isInterrupted) return 130
  return isClean && isSuccess(results) ? 0 : 1
}

async function runInCluster(context: RunContext, onOutcome: (outcome: PhaseOutcome) => void): Promise<void> {
  const { request, programs, folder, phases, screen, interrupts } = context
  const { focus, nodes = 1, report: reportFolder } = request
  await using cluster = await startCluster(context)
  // A cluster that is gone ends the suite as an interrupt does: every further test could only time out.
  const stop = AbortSignal.any([interrupts.stop, cluster.ended])
  for (const planned of phases) {
    if (stop.aborted) break
    const { kubeconfig } = cluster
    const paths = { kubeconfig, reportFolder, folder }
    const options = { ...planned, ...paths, programs, nodes, ...(focus && { focus }) }
    onOutcome(await runSuite(options, screen, { stop, kill: interrupts.kill }))
  }
  if (cluster.ended.aborted) throw cluster.ended.reason
  screen.print('removing the cluster')
}

async function startCluster(context: RunContext): Promise<SuiteCluster> {
  const { request, programs, clusterFolder, registry, screen, interrupts } = context
  const { runtime, nodes, proxyMode, report } = request
  screen.print('starting the cluster')
  const options = {
    folder: clusterFolder,
    runtime,
    path: programs.path,
    log: join(report, 'k8ts.log'),
    ...(nodes !== undefined && { nodes }),
    ...(proxyMode !== undefined && { proxyMode }),
    ...(runtime === 'containerd' && { registryUrl: registry.url }),
  }
  const cluster = await SuiteCluster.start(options, interrupts.stop)
  if (runtime === 'simulated') return cluster
  try {
    screen.print(`loading ${programs.images.length} image archives`)
    await cluster.loadImages(programs.images, interrupts.stop)
    return cluster
  } catch (error) {
    await cluster[Symbol.asyncDispose]()
    throw error
  }
}

async function describeRun(
  { request, programs, interrupts }: RunContext,
  startedMs: number,
  tests: readonly TestResult[],
): Promise<Results> {
  const { nodes = 1, proxyMode, processes, labels, focus } = request
  const { suiteVersion, containerdVersion } = programs
  return {
    suite: suiteVersion,
    k8ts: await describeBuild(),
    machine: await describeMachine(),
    ...(containerdVersion !== undefined && { containerd: containerdVersion }),
    nodes,
    ...(proxyMode !== undefined && { proxyMode }),
    processes: programs.ginkgo === undefined ? 1 : processes,
    ...(labels !== undefined && { labels }),
    ...(focus !== undefined && { focus }),
    started: new Date(startedMs).toISOString(),
    seconds: Math.round((Date.now() - startedMs) / 1_000),
    isInterrupted: interrupts.stop.aborted,
    tests,
  }
}
