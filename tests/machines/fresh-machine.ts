/** A minimal system, booted, with a copy of this checkout: committed files, and changes since. */
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { home, Machine } from './machine.ts'
import { makeRootFileSystem, type System } from './root-file-system.ts'

const run = promisify(execFile)
const checkout = fileURLToPath(new URL('../..', import.meta.url))

/** Path of the checkout in the machine. */
export const checkoutFolder = `${home}/k8ts`

export async function freshMachine(system: System, mirror: string): Promise<Machine> {
  const root = await mkdtemp(join(tmpdir(), 'k8ts-machine-'))
  try {
    await makeRootFileSystem(system, mirror, root)
    await copyCheckout(join(root, checkoutFolder))
  } catch (error) {
    await rm(root, { recursive: true, force: true })
    throw error
  }
  return Machine.boot({ root, name: `${system.codename.slice(0, 8)}${process.pid % 1_000_000}` })
}

async function copyCheckout(folder: string): Promise<void> {
  await run('git', ['clone', '--quiet', '--no-hardlinks', checkout, folder])
  for (const file of await listed('--deleted')) await rm(join(folder, file), { force: true })
  for (const file of await listed('--modified', '--others', '--exclude-standard')) {
    await cp(join(checkout, file), join(folder, file), { force: true }).catch(ignoreMissing)
  }
}

async function listed(...flags: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run('git', ['-C', checkout, 'ls-files', '-z', ...flags])
  return stdout.split('\0').filter(name => name !== '')
}

/** A modified file may be deleted. */
function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}
