/**
 * Loads, merges and modifies kubeconfig files and resolves contexts. The environment is a parameter: this
 * module does not read that of the process.
 */
import { dirname, resolve } from 'node:path'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { Platform } from '#/platform/platform.ts'
import { planKubeconfigWrites, type KubeconfigEdit } from './file/edits.ts'
import { readKubeconfigFile } from './file/file-format.ts'
import { lockFiles } from './file/lock-files.ts'
import { mergeKubeconfigs, type Kubeconfig, type LoadedFile } from './file/merge.ts'
import { KubeconfigFileError } from './kubeconfig-error.ts'

export type { KubeconfigEdit } from './file/edits.ts'
export type { ClusterEntry, ContextEntry, ExecEntry, KubeconfigFile, UserEntry } from './file/file-format.ts'
export { canonicalEntry } from './file/canonical-entry.ts'
export { mergeKubeconfigs, type Kubeconfig } from './file/merge.ts'
export { contextOf, namesIn, settingsOf, type KubeconfigOverrides } from './file/settings.ts'

export interface KubeconfigSources {
  /** The value of `--kubeconfig`: the only file to use. */
  readonly explicitPath?: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Base of relative paths on the command line. */
  readonly workingFolder: string
  /** Also the file of an explicit path may be missing. */
  readonly mayBeMissing?: boolean
}

/** The files in order of precedence. Files listed in the environment may be missing. */
export function kubeconfigPaths(sources: KubeconfigSources): readonly string[] {
  return sourceFiles(sources).map(({ path }) => path)
}

interface SourceFile {
  readonly path: string
  /** As given on the command line or in the environment. */
  readonly given: string
}

function sourceFiles({ explicitPath, environment, workingFolder }: KubeconfigSources): readonly SourceFile[] {
  const absolute = (given: string): SourceFile => ({ path: resolve(workingFolder, given), given })
  if (explicitPath) return [absolute(explicitPath)]
  const listed = (environment['KUBECONFIG'] ?? '').split(':').filter(path => path !== '')
  if (listed.length > 0) {
    const files = listed.map(absolute)
    return files.filter(({ path }, index) => files.findIndex(each => each.path === path) === index)
  }
  const home = environment['HOME']
  return home ? [absolute(resolve(workingFolder, home, '.kube/config'))] : []
}

/** Returns an empty configuration if there is no file; an explicit path must exist. */
export async function loadKubeconfig(platform: Platform, sources: KubeconfigSources): Promise<Kubeconfig> {
  return mergeKubeconfigs(await readFiles(platform, sources))
}

/** Edits of a kubeconfig, or a function that plans them for the content that the locked files have. */
export type KubeconfigChange =
  | readonly KubeconfigEdit[]
  | ((kubeconfig: Kubeconfig) => readonly KubeconfigEdit[] | Promise<readonly KubeconfigEdit[]>)

/** Locks and reads the files, applies the edits, and writes the files that contain the edited entries. */
export async function changeKubeconfig(
  platform: Platform,
  sources: KubeconfigSources,
  change: KubeconfigChange,
): Promise<void> {
  const paths = kubeconfigPaths(sources)
  if (paths.length === 0) {
    throw new Error('cannot write a kubeconfig: no home directory, set --kubeconfig')
  }
  await using _locks = await lockFiles(platform, paths)
  const files = await readFiles(platform, { ...sources, mayBeMissing: true })
  const newEntriesFile = files[0]?.path ?? paths.at(-1)!
  const edits = typeof change === 'function' ? await change(mergeKubeconfigs(files)) : change
  for (const { path, content } of planKubeconfigWrites(files, newEntriesFile, edits)) {
    await platform.files.makeFolder(dirname(path))
    // A symbolic link stays one.
    const target = await platform.files.realPath(path).catch(() => path)
    await platform.files.write(target, stringifyYaml(content as unknown as JsonValue), { mode: 0o600 })
  }
}

async function readFiles(platform: Platform, sources: KubeconfigSources): Promise<readonly LoadedFile[]> {
  const mustExist = Boolean(sources.explicitPath) && !sources.mayBeMissing
  const files: LoadedFile[] = []
  for (const { path, given } of sourceFiles(sources)) {
    let bytes: Uint8Array
    try {
      bytes = await platform.files.read(path)
    } catch (error) {
      const { code } = error as { readonly code?: unknown }
      if (code !== 'ENOENT') throw error
      if (!mustExist) continue
      throw new KubeconfigFileError({ path, given, reason: 'file not found', isMissing: true, cause: error })
    }
    files.push({ path, content: await readKubeconfigFile(bytes, { path, given }) })
  }
  return files
}
