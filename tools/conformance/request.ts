import { resolve } from 'node:path'
import {
  enumFlag,
  describeFlags,
  valueFlag,
  parseFlags,
  stringFlag,
  boolFlag,
  type Flag,
  UsageError,
} from '#/base/flags.ts'
import { proxyModes, type ProxyMode } from '#/proxy/proxier.ts'

/** The decision what one call of the program does. */
export type Request = { readonly type: 'help' } | RunRequest | WriteDocsRequest

export interface RunRequest {
  readonly type: 'run'
  readonly suite: string
  /** Absent: a program of this name is looked up beside the suite, then on the PATH. */
  readonly ginkgo?: string
  readonly kubectl?: string
  readonly images?: string
  readonly nodes?: number
  readonly proxyMode?: ProxyMode
  /** A label filter of Ginkgo; absent: conformance tests. */
  readonly labels?: string
  /** A regular expression of Go; tests that it does not match are left out. */
  readonly focus?: string
  readonly processes: number
  /** Put first on the PATH of the cluster. */
  readonly containerd?: string
  readonly runtime: 'containerd' | 'simulated'
  readonly report: string
}

export interface WriteDocsRequest {
  readonly type: 'write-docs'
  readonly results: RunFiles
  /** Runs of tests outside conformance. */
  readonly beyond: readonly RunFiles[]
  readonly reference?: string
}

/** Files of one run, and of later ones that repeat some of its tests. */
export type RunFiles = readonly [string, ...string[]]

const file = { parse: (given: string) => resolve(given), what: 'a file' }
const folder = { parse: (given: string) => resolve(given), what: 'a folder' }
const count = {
  parse: (given: string) => (/^[1-9]\d{0,2}$/.test(given) ? Number(given) : undefined),
  what: 'a number from 1 to 999',
}

const runs: Flag<readonly RunFiles[]> = {
  value: 'FILE',
  help: 'a results.json of tests outside conformance, for the page as well; may be repeated',
  read: given => given.map(readRunFiles),
}

function readRunFiles(given: string): RunFiles {
  const [first = '', ...later] = given.split(',').map(each => resolve(each))
  return [first, ...later]
}

const flags = {
  'suite': valueFlag('FILE', "the e2e.test binary of Kubernetes' release", file),
  'ginkgo': valueFlag('FILE', "Ginkgo's command line program (beside the suite, or on the PATH)", file),
  'kubectl': valueFlag('FILE', 'the kubectl that tests call (beside the suite, or on the PATH)', file),
  'images': valueFlag('DIR', 'folder of image archives (*.tar) to load and to serve to pulls', folder),
  'nodes': valueFlag('N', 'number of nodes, passed to k8ts up', count),
  'proxy-mode': enumFlag(proxyModes, 'mode of the service proxy, passed to k8ts up'),
  'labels': stringFlag('FILTER', "Ginkgo's label filter of the tests to run (Conformance)"),
  'focus': stringFlag('RE', 'run only those of the tests whose name matches'),
  'processes': valueFlag('N', 'tests that run at the same time (6 per core, at most 12)', count),
  'containerd': valueFlag('DIR', 'folder with another containerd, ctr, runc and shim to use', folder),
  'runtime': enumFlag(['containerd', 'simulated'], 'what runs pods (containerd)'),
  'report': valueFlag('DIR', 'where the results are written (./conformance-report)', folder),
  'write-docs': {
    value: 'FILE[,FILE]',
    help: 'write docs/conformance.md from a results.json and later ones of repeated tests; run nothing',
    read: ([given = '']) => readRunFiles(given),
  } satisfies Flag<RunFiles>,
  'beyond': runs,
  'reference': valueFlag('FILE', 'JSON object of seconds by test name, to compare the page with', file),
  'help': boolFlag('show this text'),
}

export const help = `Usage: npm run conformance -- --suite FILE [FLAGS]
       npm run conformance -- --write-docs FILE[,FILE] [--beyond FILE[,FILE]] [--reference FILE]

Runs Kubernetes' conformance suite against a fresh cluster, which is removed afterwards: first the tests that
may run in parallel, then the serial ones. Writes results.json, junit.xml and the logs. Ctrl-C stops the suite,
keeps the results that there are and removes the cluster. Exits with 0 when every test that ran passed, with 1
when one failed, with 2 when something is missing, and with 130 after an interrupt.

${describeFlags(flags)}
Examples:
  npm run conformance -- --suite e2e.test --images images
      the whole suite
  npm run conformance -- --suite e2e.test --images images --focus 'sig-storage.*ConfigMap'
      a part of it
  npm run conformance -- --suite e2e.test --images images --labels 'sig-apps && !Conformance && Feature: isEmpty'
      tests of a special interest group that are not conformance tests and need no optional feature
  npm run conformance -- --suite e2e.test --images images --containerd ~/containerd-2.1/bin
      with another container runtime than the one on the PATH
  npm run conformance -- --write-docs conformance-report/results.json --reference upstream-seconds.json
      docs/conformance.md from the last run
`

/** Throws UsageError. */
export function readRequest(words: readonly string[], machine: { readonly cores: number }): Request {
  const values = parseFlags(words, flags)
  if (values.help) return { type: 'help' }
  const { suite, reference, beyond = [] } = values
  const results = values['write-docs']
  if (results !== undefined) {
    if (suite !== undefined) throw new UsageError('--write-docs and --suite cannot be used together')
    return {
      type: 'write-docs',
      results,
      beyond,
      ...(reference !== undefined && { reference }),
    }
  }
  for (const name of ['reference', 'beyond'] as const) {
    if (values[name] !== undefined) throw new UsageError(`--${name} needs --write-docs FILE`)
  }
  if (suite === undefined) {
    throw new UsageError("--suite FILE is missing: the e2e.test binary of Kubernetes' release; see --help")
  }
  const { ginkgo, kubectl, images, nodes, labels, focus, containerd, runtime = 'containerd' } = values
  const proxyMode = values['proxy-mode']
  return {
    type: 'run',
    suite,
    runtime,
    processes: values.processes ?? Math.min(processesMax, processesPerCore * machine.cores),
    report: values.report ?? resolve('conformance-report'),
    ...(ginkgo !== undefined && { ginkgo }),
    ...(kubectl !== undefined && { kubectl }),
    ...(images !== undefined && { images }),
    ...(nodes !== undefined && { nodes }),
    ...(proxyMode !== undefined && { proxyMode }),
    ...(labels !== undefined && { labels }),
    ...(focus !== undefined && { focus }),
    ...(containerd !== undefined && { containerd }),
  }
}

/** Tests mostly wait. More than this makes those that measure time fail on two cores. */
const processesPerCore = 6
const processesMax = 12
