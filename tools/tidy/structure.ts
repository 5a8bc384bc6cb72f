import { dirname } from 'node:path/posix'
import type { Finding } from './finding.ts'
import { componentOf } from './layers.ts'
import type { SourceFile } from './source-file.ts'

/** A file up to this length with one importer, in the same component, belongs into that importer. */
const tinyFileLinesMax = 40

/**
 * Folders with one file for each member of a list: a plugin, verb, controller or command. A reader looks for
 * the file by the name of the member, however short it is.
 */
const registries: ReadonlySet<string> = new Set([
  'src/apiserver/admission/plugins',
  'src/apiserver/handlers',
  'src/commands',
  'src/controllers',
  'src/kubectl/commands',
  'src/scheduler/plugins',
])

/** Short files with one importer that stay. */
const tinyFiles: ReadonlySet<string> = new Set([
  // Every API group has a group.ts.
  'src/api/kinds/apiserverinternal/group.ts',
  'src/api/kinds/authentication/group.ts',
  'src/api/kinds/storagemigration/group.ts',
  // The only way into the private folders of the groups.
  'src/api/kinds/conversions.ts',
  // An algorithm with a name of its own: RFC 7386 and XSalsa20-Poly1305.
  'src/api/patch/merge-patch.ts',
  'src/apiserver/encryption/secretbox.ts',
  // Hooks of a resource are found by its name.
  'src/apiserver/apiextensions/definition-hooks.ts',
  'src/apiserver/registry/certificate-request-hooks.ts',
  // A check against other sites, with a table of cases of its own.
  'src/console/server/request-origin.ts',
  // One file for each CEL library.
  'src/cel/library/regular-expressions.ts',
  // Decisions that are tested without a browser.
  'src/console-page/data/plan-reconnect.ts',
  'src/console-page/object/port-forward-command.ts',
  // Imported on demand, since they load much that few runs need.
  'src/kubectl/printers/template-printers.ts',
  'src/kubelet/certificates/encode-certificate-request.ts',
  // An entry point.
  'src/kubectl-bundle.ts',
  // Imported on demand, so that virtual time does not load the real platform.
  'src/testing/time/real-time.ts',
])

export function checkTinyFiles(files: readonly SourceFile[]): Finding[] {
  const importers = importersOf(files)
  return files
    .filter(({ path, isTest }) => path.startsWith('src/') && !isTest)
    .filter(({ path }) => !isRegistered(dirname(path)) && !tinyFiles.has(path) && !isComponent(path))
    .filter(({ path, content }) => {
      const [importer = '', ...others] = importers.get(path) ?? []
      const isTiny = content.split('\n').length - 1 <= tinyFileLinesMax
      return isTiny && others.length === 0 && componentOf(importer) === componentOf(path)
    })
    .map(({ path }) => {
      const [importer] = importers.get(path) ?? []
      return { path, line: 1, text: `only ${importer} imports these few lines: move them there` }
    })
}

/** A component of a page has a file of its own, named like it. */
function isComponent(path: string): boolean {
  return path.endsWith('.tsx')
}

/** True for a registry, and for the subcommands of a command of kubectl, to any depth. */
function isRegistered(folder: string): boolean {
  return registries.has(folder) || folder.startsWith('src/kubectl/commands/')
}

function importersOf(files: readonly SourceFile[]): ReadonlyMap<string, ReadonlySet<string>> {
  const importers = new Map<string, Set<string>>()
  for (const { path, imports, isTest } of files) {
    if (!path.startsWith('src/') || isTest) continue
    for (const { target } of imports) {
      if (target !== undefined) importers.set(target, (importers.get(target) ?? new Set()).add(path))
    }
  }
  return importers
}

/** Folders without a second file or a subfolder. */
export function checkFolders(files: readonly SourceFile[]): Finding[] {
  const entries = new Map<string, Set<string>>()
  for (const { path } of files) {
    if (!path.startsWith('src/')) continue
    for (let entry = path; entry.includes('/'); entry = dirname(entry)) {
      const folder = dirname(entry)
      entries.set(folder, (entries.get(folder) ?? new Set()).add(entry))
    }
  }
  return [...entries]
    .filter(([folder, within]) => within.size === 1 && !folder.endsWith('/testdata') && folder !== 'src')
    .map(([, within]) => {
      const [path = ''] = within
      return { path, line: 1, text: 'a folder has at least two files' }
    })
}
