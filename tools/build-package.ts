/**
 * Writes `dist`, which is what the npm package consists of: Node strips types only outside of `node_modules`, so that
 * whoever installs the package needs JavaScript, and declarations beside it. The folder is laid out as `src`; what no
 * entry of the package and no command reaches is left out.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { distPath, distSpecifiers } from './build-package/dist-specifiers.ts'
import { sourceFile } from './tidy/source-file.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')

rmSync(dist, { recursive: true, force: true })
const entries = readEntries()
writeCode([...entries, 'src/main.ts'])
writeDeclarations(entries)

/** The sources of what package.json shows to others. */
function readEntries(): readonly string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  }
  return Object.values(exports).flatMap(entry => {
    const source = typeof entry === 'string' ? undefined : entry['k8ts-source']
    // What stands for anything in an export may have slashes in it.
    return source === undefined ? [] : globSync(source.slice(2).replace('*', '**/*'), { cwd: root })
  })
}

/** The entries and everything they load. */
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

/** The types of the entries, and of everything those are made of. */
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
