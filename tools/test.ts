/**
 * Runs the tests: all of them, or those whose path begins with one of the parameters (`npm test -- src/api/quantity`).
 * Every file runs in a process of its own, which is killed when it takes too long.
 */
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'

/** What takes longer hangs: the slowest need a fraction of it on a slow machine. */
const testTimeoutMs = 120_000
const fileTimeoutMs = 180_000

const root = fileURLToPath(new URL('..', import.meta.url))
const patterns = ['src/**/*.test.ts', 'tests/**/*.test.ts', 'tools/**/*.test.ts']
const totals = { tests: 0, suites: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0 }

const files = chooseFiles(process.argv.slice(2))
if (files.length === 0) throw new Error(`no test file begins with ${process.argv.slice(2).join(' or ')}`)
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
process.exitCode = failed + cancelled === 0 ? 0 : 1

function chooseFiles(parameters: readonly string[]): string[] {
  const prefixes = parameters.map(parameter => parameter.replace(/^\.\//, ''))
  const all = globSync(patterns, { cwd: root }).sort()
  return all.filter(file => prefixes.length === 0 || prefixes.some(prefix => file.startsWith(prefix)))
}

/** Runs files until none is left. What a file has to say is reported when it is done, so that files do not mix. */
async function runFiles(): Promise<void> {
  for (let file = files.shift(); file !== undefined; file = files.shift()) {
    const events: unknown[] = []
    const signal = AbortSignal.timeout(fileTimeoutMs)
    for await (const event of run({ files: [file], cwd: root, timeout: testTimeoutMs, signal })) {
      if (event.type === 'test:summary' && event.data.file === undefined) addTotals(event.data.counts)
      // The totals of one file, as remarks of no file.
      else if (event.type !== 'test:diagnostic' || event.data.file !== undefined) events.push(event)
    }
    for (const event of events) reporter.write(event)
  }
}

function addTotals(counts: Readonly<typeof totals>): void {
  for (const name of Object.keys(totals) as (keyof typeof totals)[]) totals[name] += counts[name]
}
