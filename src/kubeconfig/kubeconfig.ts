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
import { mergeKubeconfigs, type Kubeconfig, type LoadedFile } from './file/merge.ts'

export type { KubeconfigEdit } from './file/edits.ts'
export type { ClusterEntry, ContextEntry, KubeconfigFile, UserEntry } from './file/file-format.ts'
export { mergeKubeconfigs, type Kubeconfig } from './file/merge.ts'
export { settingsOf, type KubeconfigOverrides } from './file/settings.ts'

export interface KubeconfigSources {
  /** The value of `--kubeconfig`: the only file to use. */
  readonly explicitPath?: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Base of relative paths on the command line. */
  readonly workingFolder: string
}

/** The files in order of precedence. Files listed in the environment may be missing. */
export function kubeconfigPaths({
  explicitPath,
  environment,
  workingFolder,
}: KubeconfigSources): readonly string[] {
  if (explicitPath) return [resolve(workingFolder, explicitPath)]
  const listed = (environment['KUBECONFIG'] ?? '').split(':').filter(path => path !== '')
  if (listed.length > 0) return [...new Set(listed.map(path => resolve(workingFolder, path)))]
  const home = environment['HOME']
  return home ? [resolve(workingFolder, home, '.kube/config')] : []
}

/** Returns an empty configuration if there is no file; an explicit path must exist. */
export async function loadKubeconfig(platform: Platform, sources: KubeconfigSources): Promise<Kubeconfig> {
  return mergeKubeconfigs(await readFiles(platform, sources))
}

/** Reads the files, applies the edits, and writes the files that contain the edited entries. */
export async function changeKubeconfig(
  platform: Platform,
  sources: KubeconfigSources,
  edits: readonly KubeconfigEdit[],
): Promise<void> {
  const paths = kubeconfigPaths(sources)
  const files = await readFiles(platform, { ...sources, mayBeMissing: true })
  const newEntriesFile = files[0]?.path ?? paths.at(-1)
  if (newEntriesFile === undefined) {
    throw new Error('cannot write a kubeconfig: no home directory, set --kubeconfig')
  }
  for (const { path, content } of planKubeconfigWrites(files, newEntriesFile, edits)) {
    await platform.files.makeFolder(dirname(path))
    await platform.files.write(path, stringifyYaml(content as unknown as JsonValue), { mode: 0o600 })
  }
}

async function readFiles(
  platform: Platform,
  sources: KubeconfigSources & { readonly mayBeMissing?: boolean },
): Promise<readonly LoadedFile[]> {
  const mustExist = Boolean(sources.explicitPath) && !sources.mayBeMissing
  const files: LoadedFile[] = []
  for (const path of kubeconfigPaths(sources)) {
    try {
      files.push({ path, content: readKubeconfigFile(await platform.files.read(path), path) })
    } catch (error) {
      const { code } = error as { readonly code?: unknown }
      if (code !== 'ENOENT') throw error
      if (mustExist) {
        throw new Error(`cannot read kubeconfig ${path}: file not found`, { cause: error })
      }
    }
  }
  return files
}
