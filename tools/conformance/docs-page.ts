/** docs/conformance.md, from the results of a run. */
import { knownCauses } from './known-causes.ts'
import { figuresBySig } from './result-table.ts'
import type { MergedResults } from './merge-runs.ts'
import { isFailure, type TestResult } from './results.ts'

/** Seconds by the name of a test. */
export type ReferenceSeconds = Readonly<Record<string, number>>

export interface FurtherResults {
  /** Of tests outside conformance. */
  readonly beyond?: readonly MergedResults[]
  /** Of upstream Kubernetes. */
  readonly reference?: ReferenceSeconds
}

export function docsPage(results: MergedResults, { beyond = [], reference }: FurtherResults = {}): string {
  const { tests } = results
  const passed = tests.filter(({ state }) => state === 'passed').length
  const parts = [
    '# Conformance\n',
    '<!-- Generated from a run by npm run conformance -- --write-docs. Do not edit. -->\n',
    `${passed} of ${tests.length} tests of Kubernetes' conformance suite pass.\n`,
    runTable(results),
    '## By special interest group\n',
    sigTable(tests),
    '## Failing tests\n',
    failureTable(results),
    ...(reference === undefined ? [] : ['## Time\n', timeSection(tests, reference)]),
    ...(beyond.length === 0 ? [] : ['## Outside conformance\n', ...beyond.flatMap(beyondParts)]),
    '## Run it\n',
    runSection,
  ]
  return parts.join('\n')
}

function beyondParts(run: MergedResults): string[] {
  const { tests } = run
  const skipped = tests
    .filter(({ state }) => state === 'skipped')
    .toSorted((left, right) => (left.name < right.name ? -1 : 1))
  const passed = tests.filter(({ state }) => state === 'passed')
  const sigs = [...new Set(tests.map(({ sig }) => sig))].sort().join(', ')
  const ranCount = tests.length - skipped.length
  const reasons = skipped.map(({ name, message = '' }) => [name, summaryOf(message).slice(0, reasonLength)])
  return [
    `### ${sigs}\n`,
    `${passed.length} of ${ranCount} tests pass; ${skipped.length} more skip themselves.\n`,
    runTable(run),
    sigTable(tests),
    ...(passed.length === ranCount ? [] : [failureTable(run)]),
    ...(skipped.length === 0 ? [] : [table([['test', 'skipped because'], ...reasons])]),
  ]
}

const reasonLength = 120

const runSection = `As root on Linux, with the packages that \`tools/setup\` installs, an \`e2e.test\` binary
of the wanted Kubernetes release, \`kubectl\` and \`ginkgo\` beside it or on the PATH, and a folder with an
archive (OCI layout or \`docker save\`) of each image that the tests use:

\`\`\`
npm run conformance -- --suite e2e.test --images images
npm run conformance -- --suite e2e.test --images images --nodes 2
npm run conformance -- --suite e2e.test --images images --focus 'sig-storage.*ConfigMap'
npm run conformance -- --suite e2e.test --images images --labels 'sig-apps && !Conformance && Feature: isEmpty'
npm run conformance -- --write-docs conformance-report/results.json
\`\`\`

The cluster is fresh and is removed afterwards. \`conformance-report\` then has \`results.json\`,
\`junit.xml\` and the logs. \`npm run conformance -- --help\` has the rest.
`

function runTable(results: MergedResults): string {
  const { suite, k8ts, machine, containerd, nodes, proxyMode, processes, labels, focus, started, seconds } =
    results
  const memory = `${(machine.memoryBytes / 2 ** 30).toFixed(0)} GiB`
  return table([
    ['run', ''],
    ['suite', suite],
    ['k8ts', describeK8ts(k8ts)],
    ['date', started.slice(0, 10)],
    ['machine', `${machine.os}, Linux ${machine.kernel}, ${machine.cores} cores, ${memory}`],
    ['container runtime', containerd === undefined ? 'simulated' : `containerd ${containerd}`],
    ['nodes', String(nodes)],
    ...(proxyMode === undefined ? [] : [['proxy mode', proxyMode]]),
    ['parallel processes', String(processes)],
    ...(labels === undefined ? [] : [['labels', labels]]),
    ...(focus === undefined ? [] : [['only tests that match', focus]]),
    [
      'duration',
      `${Math.floor(seconds / 60)} min ${seconds % 60} s${results.isInterrupted ? ', interrupted' : ''}`,
    ],
    ...results.reruns.map(({ k8ts: build, testCount }) => [
      'run again',
      `${testCount} ${testCount === 1 ? 'test' : 'tests'} with k8ts ${describeK8ts(build)}`,
    ]),
  ])
}

function describeK8ts({ version, commit, isModified }: MergedResults['k8ts']): string {
  const shown = commit === undefined ? '' : `, commit ${commit.slice(0, 12)}`
  return `${version}${shown}${isModified ? ', modified' : ''}`
}

function sigTable(tests: readonly TestResult[]): string {
  const rows = figuresBySig(tests).map(({ sig, passed, failed, skipped, notRun, seconds }) =>
    [sig, passed, failed + notRun, skipped, seconds.toFixed(0)].map(String),
  )
  return table([['', 'passed', 'failed', 'skipped', 'seconds'], ...rows])
}

function failureTable(run: MergedResults): string {
  const rows = run.tests
    .filter(({ state }) => isFailure(state))
    .map(test => [test.name, causeOf(test, run)])
    .sort(([left = ''], [right = '']) => (left < right ? -1 : 1))
  return rows.length === 0 ? 'None.\n' : table([['test', 'cause'], ...rows])
}

type RunSetting = Pick<MergedResults, 'nodes' | 'containerd'>

export function causeOf({ name, state, message = '' }: TestResult, run: RunSetting): string {
  const known = knownCauses.find(({ tests, applies }) => tests.test(name) && applies(run))
  if (known !== undefined) return known.cause
  return summaryOf(message) || (state === 'failed' ? 'failed' : 'the run was interrupted')
}

/** The first line that says something: before it there may be a title, and the type of an error. */
function summaryOf(message: string): string {
  const lines = message.split('\n').map(line => line.trim())
  return lines.find(line => line !== '' && !/^Unexpected error:$|^<.*>:?\s*\{?$/.test(line)) ?? ''
}

interface Comparison {
  readonly name: string
  readonly upstream: number
  readonly k8ts: number
}

function timeSection(tests: readonly TestResult[], reference: ReferenceSeconds): string {
  const compared = tests.flatMap(({ name, state, seconds }): Comparison[] => {
    const upstream = reference[name]
    if (state !== 'passed' || seconds === undefined || upstream === undefined) return []
    return [{ name, upstream, k8ts: seconds }]
  })
  const rows = compared
    .toSorted((left, right) => right.k8ts - right.upstream - (left.k8ts - left.upstream))
    .slice(0, rowsMax)
    .map(writeComparison)
  const sum = (of: 'upstream' | 'k8ts'): number => compared.reduce((total, each) => total + each[of], 0)
  const total = writeComparison({ name: 'total', upstream: sum('upstream'), k8ts: sum('k8ts') })
  const head = ['test', 'upstream', 'k8ts', 'ratio']
  const text = `Seconds of the ${compared.length} tests that pass and have a reference, compared with upstream
Kubernetes; the ${rowsMax} largest differences, then the total of all.\n`
  return `${text}\n${table([head, ...rows, total])}`
}

const rowsMax = 40

function writeComparison({ name, upstream, k8ts }: Comparison): string[] {
  const ratio = upstream === 0 ? '' : (k8ts / upstream).toFixed(2)
  return [name, upstream.toFixed(1), k8ts.toFixed(1), ratio]
}

function table([head = [], ...rows]: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |\n`
  return [line(head), `|${'---|'.repeat(head.length)}\n`, ...rows.map(line)].join('')
}

/** Names of tests have brackets and angles that Markdown would take for its own. */
function cell(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, '\uFFFD').replaceAll(/[|<[\]*_\\]/g, match => `\\${match}`)
}
