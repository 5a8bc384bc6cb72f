/** Files of a run in its report folder. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { junitReport } from './junit-report.ts'
import type { Results } from './results.ts'

/** A result of an earlier run must not pass for one of this run. Other files are left alone. */
export async function prepareReportFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const ours = /^(?:results\.json|junit\.xml|k8ts\.log|(?:.*_)?(?:parallel|serial)\.(?:json|log))$/
  for (const name of await readdir(folder)) if (ours.test(name)) await rm(join(folder, name))
}

/** Resolves with the path of `results.json`. */
export async function writeReports(folder: string, results: Results): Promise<string> {
  const path = join(folder, 'results.json')
  await writeFile(path, `${JSON.stringify(results, undefined, 2)}\n`)
  await writeFile(join(folder, 'junit.xml'), junitReport(results))
  return path
}
