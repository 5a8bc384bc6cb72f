/**
 * Where the cluster is and who we are, from kubeconfig files: which files count, how several become one, what
 * a context means, and how changes are written back. The environment comes in as a value, since a library
 * does not look at the process it is in.
 */
import { dirname, resolve } from 'node:path'
import { stringifyYaml } from '#/api/stringify-yaml.ts'
import type { JsonValue } from '#/api/json-value.ts'
import type { Platform } from '#/platform/platform.ts'
import { planKubeconfigWrites, type KubeconfigEdit } from './kubeconfig/edits.ts'
import { readKubeconfigFile } from './kubeconfig/file-format.ts'
import { mergeKubeconfigs, type Kubeconfig, type LoadedFile } from './kubeconfig/merge.ts'

export type { KubeconfigEdit } from './kubeconfig/edits.ts'
export type { ClusterEntry, ContextEntry, KubeconfigFile, UserEntry } from './kubeconfig/file-format.ts'
export { mergeKubeconfigs, type Kubeconfig } from './kubeconfig/merge.ts'
export { settingsOf, type KubeconfigOverrides } from './kubeconfig/settings.ts'

export interface KubeconfigSources {
  /** What `--kubeconfig` says: this file and no other. */
  readonly explicitPath?: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** What relative paths on the command line are relative to. */
  readonly workingFolder: string
}

/**
 * The files in the order in which they count. A list from the environment may name files that do not exist.
 */
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

/** An empty configuration when there is no file; but a file that was asked for must be there. */
export async function loadKubeconfig(platform: Platform, sources: KubeconfigSources): Promise<Kubeconfig> {
  return mergeKubeconfigs(await readFiles(platform, sources))
}

/** Reads the files, makes the changes, and writes the files that they are in. */
export async function changeKubeconfig(
  platform: Platform,
  sources: KubeconfigSources,
  edits: readonly KubeconfigEdit[],
): Promise<void> {
  const paths = kubeconfigPaths(sources)
  const files = await readFiles(platform, { ...sources, mayBeMissing: true })
  const newEntriesFile = files[0]?.path ?? paths.at(-1)
  if (newEntriesFile === undefined) {
    throw new Error('cannot write a kubeconfig: there is no home folder, use --kubeconfig')
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
        throw new Error(`cannot read kubeconfig ${path}: there is no such file`, { cause: error })
      }
    }
  }
  return files
}
