/** Details of the developer's machine that must not appear in the project. */
export interface Machine {
  /** Absolute paths with a trailing slash. */
  readonly folders: readonly string[]
  readonly hosts: readonly string[]
}

interface MachineFacts {
  /** The folder of the checkout. */
  readonly root: string
  readonly home: string
  /** The URL of the configured npm registry. */
  readonly registry: string | undefined
}

export function machineOf({ root, home, registry }: MachineFacts): Machine {
  const host = registry === undefined ? undefined : URL.parse(registry)?.host
  return {
    folders: [...new Set([ownFolder(root), `${home}/`])].filter(folder => folder !== '/'),
    hosts: host === undefined || publicHosts.has(host) ? [] : [host],
  }
}

/** Public registries. */
export const publicHosts: ReadonlySet<string> = new Set(['registry.npmjs.org'])

/**
 * Top-level folders that exist on every machine, and the number of further path segments that make a path
 * machine-specific.
 */
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

/** The shortest prefix of the path that is machine-specific. */
function ownFolder(root: string): string {
  const names = root.split('/').filter(name => name !== '')
  const further = commonFolders.get(names[0] ?? '') ?? 0
  return `/${names.slice(0, 1 + further).join('/')}/`
}
