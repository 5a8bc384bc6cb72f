/**
 * Runs the tests: all of them, or those whose path begins with one of the parameters (`npm test -- src/api/text`).
 * Every file runs in a process of its own, which is killed when it takes too long, and in a temporary folder of its
 * own, by which everything is found and removed that it leaves on the machine.
 */
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { runFile, type Counts, type Timeouts } from './test/run-file.ts'

const minuteMs = 60_000

/** Exceeded only by tests that hang: the slowest need a fraction of it on a slow machine. */
const usualTimeouts: Timeouts = { testMs: 2 * minuteMs, fileMs: 3 * minuteMs }

/** By the beginning of the path. */
const fileTimeouts: Readonly<Record<string, Timeouts>> = {
  // Has more than a thousand command lines.
  'tests/clients/kubectl.test': { testMs: 5 * minuteMs, fileMs: 12 * minuteMs },
  // Starts and stops fifty pods several times in one test, which takes minutes on a loaded machine.
  'tests/node/faults': { testMs: 7 * minuteMs, fileMs: 8 * minuteMs },
  // Starts several nodes, and starts them again, which takes minutes on a loaded machine.
  'tests/node/several-nodes': { testMs: 7 * minuteMs, fileMs: 8 * minuteMs },
  // Makes hosts in network namespaces, and clusters of them, which takes minutes on a loaded machine.
  'tests/hosts/': { testMs: 7 * minuteMs, fileMs: 8 * minuteMs },
  // One of its runs is on such hosts.
  'tests/robustness': { testMs: 7 * minuteMs, fileMs: 10 * minuteMs },
  // Packs and installs two packages, and upgrades two nodes under load.
  'tests/upgrade': { testMs: 7 * minuteMs, fileMs: 8 * minuteMs },
  // Machines are installed over the network, and run the tests of this tree.
  'tests/machines/': { testMs: 25 * minuteMs, fileMs: 25 * minuteMs },
}

const root = fileURLToPath(new URL('..', import.meta.url))
const patterns = ['src', 'tests', 'tools', 'examples'].map(folder => `${folder}/**/*.test.ts`)
const totals: Counts = { tests: 0, suites: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0 }

const files = chooseFiles(process.argv.slice(2))
if (files.length === 0) throw new Error(`no test file begins with ${process.argv.slice(2).join(' or ')}`)
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort())
const start = performance.now()
const reporter = spec()
reporter.pipe(process.stdout, { end: false })
await Promise.all(Array.from({ length: availableParallelism() }, runFiles))
const reported = new Promise(resolve => reporter.once('end', resolve))
reporter.end()
await reported
const { tests, suites, passed, failed, cancelled, skipped, todo } = totals
console.log(
  `# tests ${tests}\n# suites ${suites}\n# pass ${passed}\n# fail ${failed}\n# cancelled ${cancelled}`,
)
console.log(`# skipped ${skipped}\n# todo ${todo}\n# duration_ms ${Math.round(performance.now() - start)}`)
process.exitCode = failed + cancelled === 0 && !interrupted.signal.aborted ? 0 : 1

function chooseFiles(parameters: readonly string[]): string[] {
  const prefixes = parameters.map(parameter => parameter.replace(/^\.\//, ''))
  const all = globSync(patterns, { cwd: root }).sort()
  return all.filter(file => prefixes.length === 0 || prefixes.some(prefix => file.startsWith(prefix)))
}

/** Runs files until none is left. A file is reported when it is done, so that the output of files does not mix. */
async function runFiles(): Promise<void> {
  const { signal } = interrupted
  for (let file = files.shift(); file !== undefined && !signal.aborted; file = files.shift()) {
    const { events, counts, leftovers } = await runFile(file, { root, timeouts: timeoutsOf(file), signal })
    for (const event of events) reporter.write(event)
    for (const name of Object.keys(totals) as (keyof Counts)[]) totals[name] += counts[name]
    for (const leftover of leftovers) console.log(`# ${file} left ${leftover}`)
  }
}

function timeoutsOf(file: string): Timeouts {
  const own = Object.entries(fileTimeouts).find(([prefix]) => file.startsWith(prefix))
  return own?.[1] ?? usualTimeouts
}
