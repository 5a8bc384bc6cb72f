import { posix } from 'node:path'

/** A file of this machine, or of a pod: `[[namespace/]pod:]path`. */
export interface FileSpec {
  readonly pod?: string
  readonly namespace?: string
  readonly path: string
}

/** Throws Error. */
export function parseFileSpec(text: string): FileSpec {
  const colon = text.indexOf(':')
  if (colon === -1) return { path: withoutTrailingSlash(text) }
  const pieces = text.slice(0, colon).split('/')
  if (colon === 0 || pieces.length > 2) {
    throw new Error('filespec must match the canonical format: [[namespace/]pod:]file/path')
  }
  const path = withoutTrailingSlash(text.slice(colon + 1)).replaceAll('\\', '/')
  const [first = '', second] = pieces
  return second === undefined ? { pod: first, path } : { namespace: first, pod: second, path }
}

function withoutTrailingSlash(path: string): string {
  return path === '/' ? path : path.replace(/\/$/, '')
}

/** What the names in an archive of this path begin with: tar removes the slash and `../` at the start. */
export function archivePrefix(path: string): string {
  return withoutShortcuts(cleanPath(path.replace(/^[/\\]+/, '')))
}

function withoutShortcuts(path: string): string {
  const rest = path.replace(/^(?:\.\.\/)+/, '')
  return rest === '.' || rest === '..' ? '' : rest.replace(/^\//, '')
}

/**
 * Where the entry of an archive is written below a local path. Undefined if the archive is not of this path, or if the
 * entry would be outside of the local path.
 */
export function planTarget(
  name: string,
  { prefix, destination }: { readonly prefix: string; readonly destination: string },
): { readonly path: string; readonly isOutside: boolean } | undefined {
  if (!name.startsWith(prefix)) return undefined
  const path = joinPaths(destination, name.slice(prefix.length).replaceAll('\\', '/'))
  const relative = posix.relative(destination, path)
  return { path, isOutside: relative === '..' || relative.startsWith('../') }
}

/** Without `.`, inner `..` and a slash at the end; `.` if nothing is left. */
export function cleanPath(path: string): string {
  const normalized = posix.normalize(path)
  return normalized.length > 1 ? normalized.replace(/\/$/, '') : normalized
}

export function joinPaths(...paths: readonly string[]): string {
  return cleanPath(posix.join(...paths))
}
