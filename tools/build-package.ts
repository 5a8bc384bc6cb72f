/**
 * Writes `dist`, the content of the npm package. Node does not strip types within `node_modules`, so the
 * package needs JavaScript and declarations. The layout is that of `src`; files that no entry point and no
 * command reaches are omitted.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { distPath, distSpecifiers } from './dist-specifiers.ts'
import { sourceFile } from './tidy/source-file.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')

rmSync(dist, { recursive: true, force: true })
const entries = readEntries()
writeCode([...entries, 'src/main.ts'])
writeDeclarations(entries)
writeBundle('kubectl', dist)
writeBundle('console', join(dist, 'console-page'))

/** The source files of the exports of package.json. */
function readEntries(): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  }
  return Object.values(exports).flatMap(entry => {
    const source = typeof entry === 'string' ? undefined : entry['k8ts-source']
    // A `*` in an export also matches slashes.
    return source === undefined ? [] : globSync(source.slice(2).replace('*', '**/*'), { cwd: root })
  })
}

/** Writes the entry points and all files they import. */
function writeCode(entries: readonly string[]): void {
  const waiting = [...entries]
  const written = new Set<string>()
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (written.has(path) || !path.startsWith('src/')) continue
    written.add(path)
    if (!path.endsWith('.ts')) {
      mkdirSync(dirname(join(root, distPath(path))), { recursive: true })
      copyFileSync(join(root, path), join(root, distPath(path)))
      continue
    }
    const code = stripTypeScriptTypes(readFileSync(join(root, path), 'utf8'))
    const { imports } = sourceFile(path, code)
    waiting.push(...imports.flatMap(({ target }) => target ?? []))
    write(distPath(path), distSpecifiers(path, code))
  }
}

/** Writes kubectl as one file, and the page of the console. */
function writeBundle(name: 'kubectl' | 'console', folder: string): void {
  const bundler = join(root, `tools/bundle-${name}.ts`)
  const { status, stderr } = spawnSync(process.execPath, [bundler, folder], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${name} cannot be bundled:\n${stderr}`)
}

/** Writes the type declarations of the entry points and of all types they use. */
function writeDeclarations(entries: readonly string[]): void {
  mkdirSync(join(root, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, '.cache', 'declarations-'))
  const settings = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: root,
      outDir: folder,
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
    },
    include: [],
    files: entries.map(path => join(root, path)),
  }
  try {
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings))
    const compiler = join(root, 'node_modules/.bin/tsc')
    const { status, stdout, stderr } = spawnSync(compiler, ['-p', folder], { encoding: 'utf8' })
    if (status !== 0) throw new Error(`tsc cannot write declarations:\n${stdout}${stderr}`)
    for (const path of globSync('src/**/*.d.ts', { cwd: folder })) {
      write(distPath(path), distSpecifiers(path, readFileSync(join(folder, path), 'utf8')))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), content)
}
