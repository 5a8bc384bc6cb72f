/**
 * Writes kubectl as a bundle, which starts faster than its modules: `node tools/bundle-kubectl.ts [FOLDER]`.
 * Without a folder it goes to `.cache/kubectl`, with the list of its sources, unless that one is current.
 */
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { isBundleCurrent, writeBundleInputs } from './bundle/bundle-inputs.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const [packageFolder] = process.argv.slice(2)
const folder = packageFolder ?? join(root, '.cache/kubectl')

if (packageFolder !== undefined || !isBundleCurrent(root, folder)) await bundle()

async function bundle(): Promise<void> {
  const inputs = await Promise.all([
    bundleFile('src/kubectl-bundle.ts', 'kubectl-program.cjs'),
    bundleFile('src/kubectl-start.ts', 'kubectl.cjs'),
  ])
  if (packageFolder === undefined) writeBundleInputs({ root, folder, paths: inputs.flat() })
}

/** Returns the paths of the sources. The file is replaced atomically, since commands may start at any time. */
async function bundleFile(source: string, name: string): Promise<readonly string[]> {
  const file = join(folder, name)
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [source],
    bundle: true,
    platform: 'node',
    target: 'node26',
    format: 'cjs',
    mainFields: ['module', 'main'],
    alias: { '#': './src' },
    external: ['@grpc/grpc-js', '@peculiar/x509', '@noble/ciphers', 'reflect-metadata'],
    minify: true,
    keepNames: true,
    logOverride: { 'empty-import-meta': 'silent' },
    outfile: `${file}.${process.pid}`,
    metafile: true,
    logLevel: 'warning',
  })
  renameSync(`${file}.${process.pid}`, file)
  return Object.keys(metafile.inputs)
}
