import { resolve } from 'node:path'
import {
  enumFlag,
  describeFlags,
  valueFlag,
  parseFlags,
  stringFlag,
  boolFlag,
  UsageError,
} from '#/base/flags.ts'

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
  /** A regular expression of Go; conformance tests that it does not match are left out. */
  readonly focus?: string
  readonly processes: number
  /** Put first on the PATH of the cluster. */
  readonly containerd?: string
  readonly runtime: 'containerd' | 'simulated'
  readonly report: string
}

export interface WriteDocsRequest {
  readonly type: 'write-docs'
  readonly results: string
  readonly reference?: string
}

const file = { parse: (given: string) => resolve(given), what: 'a file' }
const folder = { parse: (given: string) => resolve(given), what: 'a folder' }
const count = {
  parse: (given: string) => (/^[1-9]\d{0,2}$/.test(given) ? Number(given) : undefined),
  what: 'a number from 1 to 999',
}

const flags = {
  'suite': valueFlag('FILE', "the e2e.test binary of Kubernetes' release", file),
  'ginkgo': valueFlag('FILE', "Ginkgo's command line program (beside the suite, or on the PATH)", file),
  'kubectl': valueFlag('FILE', 'the kubectl that tests call (beside the suite, or on the PATH)', file),
  'images': valueFlag('DIR', 'folder of image archives (*.tar) to load and to serve to pulls', folder),
  'nodes': valueFlag('N', 'number of nodes, passed to k8ts up', count),
  'focus': stringFlag('RE', 'run only the conformance tests whose name matches'),
  'processes': valueFlag('N', 'tests that run at the same time (6 per core, at most 12)', count),
  'containerd': valueFlag('DIR', 'folder with another containerd, ctr, runc and shim to use', folder),
  'runtime': enumFlag(['containerd', 'simulated'], 'what runs pods (containerd)'),
  'report': valueFlag('DIR', 'where the results are written (./conformance-report)', folder),
  'write-docs': valueFlag('FILE', 'write docs/conformance.md from this results.json, and run nothing', file),
  'reference': valueFlag('FILE', 'JSON object of seconds by test name, to compare the page with', file),
  'help': boolFlag('show this text'),
}

export const help = `Usage: npm run conformance -- --suite FILE [FLAGS]
       npm run conformance -- --write-docs FILE [--reference FILE]

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
  npm run conformance -- --suite e2e.test --images images --containerd ~/containerd-2.1/bin
      with another container runtime than the one on the PATH
  npm run conformance -- --write-docs conformance-report/results.json --reference upstream-seconds.json
      docs/conformance.md from the last run
`

/** Throws UsageError. */
export function readRequest(words: readonly string[], machine: { readonly cores: number }): Request {
  const values = parseFlags(words, flags)
  if (values.help) return { type: 'help' }
  const { suite, reference } = values
  const results = values['write-docs']
  if (results !== undefined) {
    if (suite !== undefined) throw new UsageError('--write-docs and --suite cannot be used together')
    return { type: 'write-docs', results, ...(reference !== undefined && { reference }) }
  }
  if (reference !== undefined) throw new UsageError('--reference needs --write-docs FILE')
  if (suite === undefined) {
    throw new UsageError("--suite FILE is missing: the e2e.test binary of Kubernetes' release; see --help")
  }
  const { ginkgo, kubectl, images, nodes, focus, containerd, runtime = 'containerd' } = values
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
    ...(focus !== undefined && { focus }),
    ...(containerd !== undefined && { containerd }),
  }
}

/** Tests mostly wait. More than this makes those that measure time fail on two cores. */
const processesPerCore = 6
const processesMax = 12
