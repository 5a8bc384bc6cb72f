import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BundleInputs } from '#/kubectl-start.ts'

export interface BundleSources {
  /** The checkout, with a slash at the end. */
  readonly root: string
  /** Of the bundle. */
  readonly folder: string
  /** Of the sources, below the root. */
  readonly paths: readonly string[]
}

/** Records the sources of a bundle beside it. */
export function writeBundleInputs({ root, folder, paths }: BundleSources): void {
  const files = Object.fromEntries(
    paths.map(path => {
      const { ctimeMs, size: sizeBytes } = statSync(join(root, path))
      return [path, { ctimeMs, sizeBytes }]
    }),
  )
  writeFileSync(inputsFile(folder), JSON.stringify({ root, files } satisfies BundleInputs))
}

/** True if no source of the bundle has changed. */
export function isBundleCurrent(root: string, folder: string): boolean {
  try {
    const { root: bundled, files } = JSON.parse(readFileSync(inputsFile(folder), 'utf8')) as BundleInputs
    return (
      bundled === root &&
      Object.entries(files).every(([path, { ctimeMs, sizeBytes }]) => {
        const { ctimeMs: nowMs, size } = statSync(join(root, path))
        return nowMs === ctimeMs && size === sizeBytes
      })
    )
  } catch {
    return false
  }
}

function inputsFile(folder: string): string {
  return join(folder, 'inputs.json')
}
