/**
 * Bundles the page of the console: `node tools/bundle-console.ts [FOLDER]`. Without a folder it goes to
 * `.cache/console`, with the list of its sources, unless that one is current.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isBundleCurrent, writeBundleInputs } from './bundle/bundle-inputs.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const [packageFolder] = process.argv.slice(2)
const folder = packageFolder ?? join(root, '.cache/console')

if (packageFolder !== undefined || !isBundleCurrent(root, folder)) {
  // esbuild takes longer to load than the check.
  const { bundlePage } = await import('./bundle/bundle-page.ts')
  try {
    const { inputs } = await bundlePage({ root, folder })
    if (packageFolder === undefined) writeBundleInputs({ root, folder, paths: inputs })
  } catch (error) {
    // esbuild has printed its own errors.
    const isReported = error instanceof Error && 'errors' in error
    if (!isReported) console.error(`the page of the console cannot be bundled: ${String(error)}`)
    process.exitCode = 1
  }
}
