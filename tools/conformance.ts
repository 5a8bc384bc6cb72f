/**
 * Runs Kubernetes' conformance suite, an `e2e.test` binary that the machine already has, against a fresh
 * cluster:
 *
 *     npm run conformance -- --suite e2e.test --images images
 *     npm run conformance -- --suite e2e.test --images images --focus 'sig-storage.*ConfigMap'
 *     npm run conformance -- --write-docs conformance-report/results.json
 *
 * Writes `results.json` (its form is in conformance/results.ts), `junit.xml` and logs into the report folder.
 * It builds neither the suite nor its images, and downloads nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { UsageError } from '#/base/flags.ts'
import { docsPage, type ReferenceSeconds } from './conformance/docs-page.ts'
import { listenForInterrupts } from './conformance/interrupts.ts'
import { mergeRuns, type MergedResults } from './conformance/merge-runs.ts'
import { help, readRequest, type RunFiles, type WriteDocsRequest } from './conformance/request.ts'
import type { Results } from './conformance/results.ts'
import { run } from './conformance/run.ts'
import { Screen } from './conformance/screen.ts'

try {
  process.exitCode = await main()
} catch (error) {
  console.error(`conformance: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = error instanceof UsageError ? 2 : 1
}

async function main(): Promise<number> {
  const request = readRequest(process.argv.slice(2), { cores: availableParallelism() })
  if (request.type === 'help') {
    console.log(help)
    return 0
  }
  if (request.type === 'write-docs') return writeDocs(request)
  const screen = new Screen(process.stdout)
  using interrupts = listenForInterrupts(line => screen.print(line))
  return await run(request, screen, interrupts)
}

function writeDocs({ results, beyond, reference }: WriteDocsRequest): number {
  const path = fileURLToPath(new URL('../docs/conformance.md', import.meta.url))
  const seconds = reference === undefined ? undefined : (read(reference) as ReferenceSeconds)
  const page = docsPage(readRuns(results), {
    beyond: beyond.map(readRuns),
    ...(seconds !== undefined && { reference: seconds }),
  })
  writeFileSync(path, page)
  console.log(`wrote ${path}`)
  return 0
}

function readRuns([first, ...later]: RunFiles): MergedResults {
  return mergeRuns([read(first) as Results, ...later.map(path => read(path) as Results)])
}

function read(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError(`cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}
