/**
 * The entry point of kubectl as a bundle, which `tools/bundle-kubectl.ts` makes: Node resolves, reads and compiles
 * hundreds of modules in more time than most commands take. It is a file of its own so that the compile cache is
 * enabled before the program is loaded. In a checkout, a bundle of which a source has changed is not used; the
 * command runs from the sources, and the bundle is made again for the next one.
 */
import { readFileSync, statSync } from 'node:fs'
import { createRequire, enableCompileCache } from 'node:module'
import { join } from 'node:path'

/** In `inputs.json` beside the bundle. Absent in the npm package, whose files do not change. */
export interface BundleInputs {
  /** With a slash at the end. */
  readonly root: string
  /** Paths below the root. */
  readonly files: Readonly<Record<string, BundleInput>>
}

interface BundleInput {
  /** Package managers set the modification time, but not this one. */
  readonly ctimeMs: number
  readonly sizeBytes: number
}

/** When the folder is not writable, code is compiled on every start. */
enableCompileCache(join(__dirname, 'compiled'))

const inputs = readInputs()
if (inputs === undefined || isCurrent(inputs)) createRequire(__filename)('./kubectl-program.cjs')
else void runSources(inputs)

async function runSources({ root }: BundleInputs): Promise<void> {
  const bundler = [join(root, 'tools/bundle-kubectl.ts')]
  const { spawn } = await import('node:child_process')
  spawn(process.execPath, bundler, { detached: true, stdio: 'ignore' }).unref()
  process.argv.splice(2, 0, 'kubectl')
  await import(join(root, 'src/main.ts'))
}

function readInputs(): BundleInputs | undefined {
  try {
    return JSON.parse(readFileSync(join(__dirname, 'inputs.json'), 'utf8')) as BundleInputs
  } catch {
    return undefined
  }
}

function isCurrent({ root, files }: BundleInputs): boolean {
  return Object.entries(files).every(([path, { ctimeMs, sizeBytes }]) => {
    // Not joined: normalizing hundreds of paths takes longer than the calls.
    const file = statSync(root + path, { throwIfNoEntry: false })
    return file?.ctimeMs === ctimeMs && file.size === sizeBytes
  })
}
