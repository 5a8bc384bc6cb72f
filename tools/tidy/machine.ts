/** What tells a reader of the project on which machine it was written, and so does not belong in it. */
export interface Machine {
  /** Absolute folders, with a slash at the end. */
  readonly folders: readonly string[]
  readonly hosts: readonly string[]
}

interface MachineFacts {
  /** Where the checkout lies. */
  readonly root: string
  readonly home: string
  /** The URL of the npm registry in use. */
  readonly registry: string | undefined
}

export function machineOf({ root, home, registry }: MachineFacts): Machine {
  const host = registry === undefined ? undefined : URL.parse(registry)?.host
  return {
    folders: [...new Set([ownFolder(root), `${home}/`])].filter(folder => folder !== '/'),
    hosts: host === undefined || publicHosts.has(host) ? [] : [host],
  }
}

/** Registries that everybody has. */
export const publicHosts: ReadonlySet<string> = new Set(['registry.npmjs.org'])

/** Folders at the top that every machine has, and how many further names make a folder that only this one has. */
const commonFolders: ReadonlyMap<string, number> = new Map([
  ['home', 1],
  ['Users', 1],
  ['tmp', 1],
  ['var', 2],
  ['opt', 1],
  ['srv', 1],
  ['usr', 2],
  ['mnt', 1],
])

/** The shortest start of the path that is not the same on every machine. */
function ownFolder(root: string): string {
  const names = root.split('/').filter(name => name !== '')
  const further = commonFolders.get(names[0] ?? '') ?? 0
  return `/${names.slice(0, 1 + further).join('/')}/`
}
