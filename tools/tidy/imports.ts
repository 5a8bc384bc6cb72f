import { dirname } from 'node:path/posix'
import type { Finding } from './finding.ts'
import { componentOf } from './layers.ts'
import type { Import, SourceFile } from './source-file.ts'

type ImportRule = (path: string, imported: Import) => string | undefined

/** Rules for one import; each returns the finding. */
const rules: readonly ImportRule[] = [checkEnding, checkAlias, checkPrivacy]

export function checkImports(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(file =>
    file.imports.flatMap(imported =>
      rules.flatMap(rule => {
        const text = rule(file.path, imported)
        return text === undefined ? [] : [{ path: file.path, line: imported.line, text }]
      }),
    ),
  )
}

function checkEnding(_path: string, { specifier, target }: Import): string | undefined {
  if (target === undefined || /\.(tsx?|json)$/.test(specifier)) return undefined
  return `import ${specifier} does not end with .ts`
}

/**
 * `./` is for imports within a component, `#/` for those across components; files outside of src are imported
 * by path.
 */
function checkAlias(path: string, { specifier, target }: Import): string | undefined {
  if (target === undefined || !target.startsWith('src/')) return undefined
  const inside = path.startsWith('src/') && componentOf(path) === componentOf(target)
  if (inside !== specifier.startsWith('#/')) return undefined
  const advice = inside ? 'stays inside the component: use ./' : 'leaves the component: use #/'
  return `import ${specifier} ${advice}`
}

/** Tools that generate or check a part of a component and therefore may import its private files. */
const makers = [{ tools: /^tools\/(generate|compare)-(api|protobuf)[./-]/, component: 'src/api/' }]

/** Folders whose files are public, as those at the top level of their component. */
const publicFolders: ReadonlySet<string> = new Set([
  'src/api/core',
  'src/api/custom-resources',
  'src/api/decoding',
  'src/api/net',
  'src/api/selectors',
  'src/api/text',
  'src/simulation/history',
  'src/simulation/recording',
])

/** Files at the top level of a component are public; other subfolders are private to their parent folder. */
function checkPrivacy(path: string, { target }: Import): string | undefined {
  if (target === undefined || !target.startsWith('src/') || target.startsWith('src/api/generated/'))
    return undefined
  if (makers.some(({ tools, component }) => tools.test(path) && target.startsWith(component)))
    return undefined
  if (publicFolders.has(dirname(target))) return undefined
  const owner = dirname(dirname(target))
  // `store/embedded.ts` and its test belong to `store/embedded/`.
  const place = path.replace(/(\.\w+)?\.tsx?$/, '/')
  if (owner === 'src' || owner === '.' || place.startsWith(`${owner}/`)) return undefined
  return `${target} is private to ${owner}`
}

/** Entry points of the program. */
const entryPoints: ReadonlySet<string> = new Set([
  'src/main.ts',
  'src/kubectl-bundle.ts',
  'src/kubectl-start.ts',
  'src/console-page/main.tsx',
])

export function checkDeadFiles(files: readonly SourceFile[]): Finding[] {
  const imported = new Set(files.flatMap(file => file.imports.map(each => each.target)))
  return files
    .filter(({ path }) => path.startsWith('src/') && !path.endsWith('.test.ts'))
    .filter(({ path }) => !entryPoints.has(path) && !imported.has(path))
    .map(({ path }) => ({ path, line: 1, text: 'nothing imports this file' }))
}

const reExport = /\bexport\s[^'"]*?from\s*(['"]) *\1/g
const anyImport = /\bimport\s(?:[^'"]*?from\s*)?(['"]) *\1(?:\s*with\s*\{[^}]*\})?/g

export function checkBarrels(files: readonly SourceFile[]): Finding[] {
  const onlyPassesOn = (code: string) => code.replaceAll(reExport, '').replaceAll(anyImport, '').trim() === ''
  return files
    .filter(({ code }) => code.includes('export') && onlyPassesOn(code))
    .map(({ path }) => ({ path, line: 1, text: 'only exports what others made: import it from where it is' }))
}
