import type { ClusterEntry, ContextEntry, KubeconfigFile, UserEntry } from './file-format.ts'

/** The merged content of several files. */
export interface Kubeconfig {
  /** Empty when no file sets one. */
  readonly currentContext: string
  readonly clusters: ReadonlyMap<string, Located<ClusterEntry>>
  readonly contexts: ReadonlyMap<string, Located<ContextEntry>>
  readonly users: ReadonlyMap<string, Located<UserEntry>>
}

/** An entry and its file: relative paths are resolved against the file's folder. */
export interface Located<T> {
  readonly value: T
  readonly file: string
}

export interface LoadedFile {
  readonly path: string
  readonly content: KubeconfigFile
}

/** The first file that has an entry wins; entries with the same name in later files are ignored entirely. */
export function mergeKubeconfigs(files: readonly LoadedFile[]): Kubeconfig {
  const clusters = new Map<string, Located<ClusterEntry>>()
  const contexts = new Map<string, Located<ContextEntry>>()
  const users = new Map<string, Located<UserEntry>>()
  let currentContext = ''
  for (const { path, content } of files) {
    currentContext ||= content['current-context'] ?? ''
    addFirst(
      clusters,
      path,
      content.clusters?.map(({ name = '', cluster }) => [name, cluster]),
    )
    addFirst(
      contexts,
      path,
      content.contexts?.map(({ name = '', context }) => [name, context]),
    )
    addFirst(
      users,
      path,
      content.users?.map(({ name = '', user }) => [name, user]),
    )
  }
  return { currentContext, clusters, contexts, users }
}

/** Within one file the last entry with a name wins. */
function addFirst<T extends object>(
  merged: Map<string, Located<T>>,
  file: string,
  entries: readonly (readonly [string, T | undefined])[] = [],
): void {
  for (const [name, value = {} as T] of new Map(entries)) {
    if (!merged.has(name)) merged.set(name, { value, file })
  }
}
