import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build, type Metafile } from 'esbuild'

export interface PageBundleOptions {
  /** The checkout. */
  readonly root: string
  /** Receives `index.html` and the files that it refers to. Older scripts and style sheets in it are removed. */
  readonly folder: string
}

/** Source of the page, in which the names of the entry points stand for the hashed names of the bundled files. */
const source = 'src/console-page'
const entries = ['main.tsx', 'style.css', 'icon.svg']

export interface PageBundle {
  /** Paths of the sources, below the root. */
  readonly inputs: readonly string[]
  /** Names of the files that the first view loads: the entry points and everything they import statically. */
  readonly firstView: readonly string[]
}

/** Names of scripts and style sheets contain a hash of the content, so that browsers may keep them for ever. */
export async function bundlePage({ root, folder }: PageBundleOptions): Promise<PageBundle> {
  const { metafile, outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: entries.map(name => `${source}/${name}`),
    bundle: true,
    splitting: true,
    platform: 'browser',
    target: ['chrome120', 'firefox121', 'safari17'],
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    alias: { '#': './src' },
    minify: true,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'copy', '.woff2': 'file' },
    outdir: folder,
    metafile: true,
    write: false,
    logLevel: 'warning',
  })
  mkdirSync(folder, { recursive: true })
  for (const { path, contents } of outputFiles) writeFileSync(path, contents)
  const html = `${source}/index.html`
  const page = withHashedNames(readFileSync(join(root, html), 'utf8'), metafile)
  // Replaced atomically, after the files it refers to: the console may serve it at any time.
  writeFileSync(join(folder, `index.html.${process.pid}`), page)
  renameSync(join(folder, `index.html.${process.pid}`), join(folder, 'index.html'))
  removeOthers(folder, new Set(outputFiles.map(({ path }) => basename(path))))
  return {
    inputs: [...Object.keys(metafile.inputs), html],
    firstView: ['index.html', ...firstView(metafile)],
  }
}

function withHashedNames(html: string, metafile: Metafile): string {
  let page = html
  for (const name of entries) {
    const reference = `"${name}"`
    if (!page.includes(reference)) throw new Error(`${source}/index.html does not refer to ${reference}`)
    page = page.replaceAll(reference, `"${basename(outputOf(metafile, name))}"`)
  }
  return page
}

function outputOf({ outputs }: Metafile, name: string): string {
  const [path] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === `${source}/${name}`)!
  return path
}

function firstView(metafile: Metafile): readonly string[] {
  const reached = new Set(entries.map(name => outputOf(metafile, name)))
  // A set iterates also over what is added meanwhile.
  for (const path of reached) {
    for (const { path: imported, kind, external } of metafile.outputs[path]?.imports ?? []) {
      if (kind !== 'dynamic-import' && external !== true) reached.add(imported)
    }
  }
  return [...reached].map(path => basename(path))
}

/** A page that was opened earlier loads its views for as long from the bundle that it began with. */
const earlierKeptMs = 600_000

/** Removes the scripts and style sheets of earlier bundles. */
function removeOthers(folder: string, current: ReadonlySet<string>): void {
  for (const name of readdirSync(folder)) {
    if (!hashedName.test(name) || current.has(name)) continue
    const path = join(folder, name)
    const { mtimeMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {}
    if (Date.now() - mtimeMs > earlierKeptMs) rmSync(path, { force: true })
  }
}

const hashedName = /-[A-Z0-9]{8}\.(?:js|css|svg|woff2)$/
