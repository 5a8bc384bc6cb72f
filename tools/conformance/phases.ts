/** The two parts of a run, and the command lines for them. */
import type { Programs } from './programs.ts'

export interface Phase {
  readonly name: 'parallel' | 'serial'
  /** A filter of Ginkgo over the labels that tests have. */
  readonly labels: string
  readonly processes: number
}

export interface PlanPhasesOptions {
  readonly processes: number
  readonly ginkgo?: string
  /** Filter of Ginkgo that selects the tests; absent: all conformance tests. */
  readonly labels?: string
}

/** Together they are all selected tests, and no test is in both. */
export function planPhases({ processes, ginkgo, labels }: PlanPhasesOptions): readonly Phase[] {
  const selected = labels === undefined ? 'Conformance' : `(${labels})`
  return [
    {
      name: 'parallel',
      labels: `${selected} && !Serial && !Disruptive`,
      processes: ginkgo === undefined ? 1 : processes,
    },
    { name: 'serial', labels: `${selected} && (Serial || Disruptive)`, processes: 1 },
  ]
}

interface Selection {
  readonly phase: Phase
  readonly focus?: string
}

export interface SuiteRun extends Selection {
  readonly programs: Pick<Programs, 'suite' | 'ginkgo' | 'kubectl'>
  readonly kubeconfig: string
  readonly nodes: number
  readonly reportFolder: string
}

/**
 * Ginkgo's own program divides the tests among processes. One process needs no Ginkgo; the flags are the
 * same, behind a prefix.
 */
export function suiteCommand(run: SuiteRun): readonly string[] {
  const { phase, programs, reportFolder } = run
  const report = ginkgoReportName(phase)
  const flags = { ...selection(run), ...output, timeout: '48h' }
  const parameters = suiteParameters(run)
  if (phase.processes === 1 || programs.ginkgo === undefined) {
    const own = { ...flags, 'json-report': `${reportFolder}/${report}` }
    return [programs.suite, ...written('--ginkgo.', own), ...parameters]
  }
  // A report is named without a folder: Ginkgo would look for it below the folder of the suite.
  const own = {
    ...flags,
    'procs': String(phase.processes),
    'output-dir': reportFolder,
    'json-report': report,
  }
  return [programs.ginkgo, 'run', ...written('--', own), programs.suite, '--', ...parameters]
}

/** Writes a report in which every test that would run has passed. */
export function listCommand({
  suite,
  report,
  ...chosen
}: Selection & { suite: string; report: string }): string[] {
  const flags = { ...selection(chosen), 'dry-run': 'true', 'json-report': report }
  return [suite, ...written('--ginkgo.', flags), '--provider=skeleton']
}

export function ginkgoReportName(phase: Phase): string {
  return `${phase.name}.json`
}

function selection({ phase, focus }: Selection): Record<string, string> {
  return { 'label-filter': phase.labels, ...(focus !== undefined && { focus }) }
}

/** Progress is read from it. Of several processes only the reports of polling name tests that run. */
const output = {
  'v': 'true',
  'no-color': 'true',
  'silence-skips': 'true',
  'poll-progress-after': '20s',
  'poll-progress-interval': '20s',
}

function suiteParameters({ programs, kubeconfig, nodes }: SuiteRun): string[] {
  const parameters = {
    'provider': 'skeleton',
    'kubeconfig': kubeconfig,
    'kubectl-path': programs.kubectl,
    'kube-api-content-type': 'application/json',
    'disable-log-dump': 'true',
    'minStartupPods': '0',
    // Tests that need two nodes skip themselves without it.
    'num-nodes': String(nodes),
    'dns-domain': 'cluster.local',
  }
  return written('--', parameters)
}

function written(prefix: string, flags: Readonly<Record<string, string>>): string[] {
  return Object.entries(flags).map(([name, value]) => `${prefix}${name}=${value}`)
}
