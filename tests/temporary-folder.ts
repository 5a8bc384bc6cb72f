import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { TestContext } from 'node:test'

/** Creates a folder that is removed when the test ends. */
export async function temporaryFolder(t: Pick<TestContext, 'after'>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/**
 * A unique name for something outside of the temporary folder: a cgroup, a network namespace. It contains the name of
 * the folder that `tools/test.ts` gives to each file, by which what an aborted file leaves is found.
 */
export function machineWideName(): string {
  return `k8ts-test-${basename(tmpdir())}-${randomBytes(4).toString('hex')}`
}
