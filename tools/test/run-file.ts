import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { removeLeftovers } from './remove-leftovers.ts'

export interface Timeouts {
  readonly testMs: number
  readonly fileMs: number
}

export interface RunFileOptions {
  /** Of the tree. */
  readonly root: string
  readonly timeouts: Timeouts
  /** Aborting kills the process of the file. */
  readonly signal: AbortSignal
}

export interface FileRun {
  /** For a reporter. */
  readonly events: readonly unknown[]
  readonly counts: Readonly<Counts>
  /** What it left apart from files; all of it is removed. */
  readonly leftovers: readonly string[]
}

export interface Counts {
  tests: number
  suites: number
  passed: number
  failed: number
  cancelled: number
  skipped: number
  todo: number
}

/** Runs one file in a process and a temporary folder of its own. Nothing of it is left when this resolves. */
export async function runFile(file: string, { root, timeouts, signal }: RunFileOptions): Promise<FileRun> {
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-'))
  const events: unknown[] = []
  let counts: Counts = { tests: 0, suites: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0 }
  const options = {
    files: [file],
    cwd: root,
    // Examples import the package by its name.
    execArgv: ['--conditions=k8ts-source'],
    env: { ...process.env, TMPDIR: folder },
    timeout: timeouts.testMs,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeouts.fileMs)]),
  }
  for await (const event of run(options)) {
    if (event.type === 'test:summary' && event.data.file === undefined) counts = event.data.counts
    // Diagnostics without a file repeat the totals.
    else if (event.type !== 'test:diagnostic' || event.data.file !== undefined) events.push(event)
  }
  return { events, counts, leftovers: await tryToRemove(folder, root) }
}

/** A leftover that cannot be removed is reported and does not end the run. */
async function tryToRemove(folder: string, root: string): Promise<readonly string[]> {
  try {
    return await removeLeftovers(folder, root)
  } catch (error) {
    return [`${folder}, which cannot be removed: ${String(error)}`]
  }
}
