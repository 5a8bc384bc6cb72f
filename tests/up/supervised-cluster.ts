/** `k8ts up` with its supervisor on a folder that does not exist yet. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { script } from './process.ts'

export interface SupervisedCluster {
  readonly folder: string
  /** What it has written to stderr so far. */
  readonly errors: () => string
  /** Exit code and signal of the supervisor. */
  readonly ended: Promise<readonly unknown[]>
}

/** Resolves when it is ready. */
export async function startSupervised(
  t: TestContext,
  ...flags: readonly string[]
): Promise<SupervisedCluster> {
  const folder = join(await temporaryFolder(t), 'data')
  const child = spawn(script, ['up', ...flags, '--data-dir', folder, '--port', '0'])
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let output = ''
  let errors = ''
  child.stdout.on('data', piece => (output += String(piece)))
  child.stderr.on('data', piece => (errors += String(piece)))
  await waitUntil(() => /^ready in /m.test(output))
  return { folder, errors: () => errors, ended }
}
