import { posix } from 'node:path'

export type ProxyRoute =
  /** `target` is the path and query at the API server, `path` its decoded path. */
  | { readonly type: 'api'; readonly target: string; readonly path: string }
  /** Normalized path of a file below the static folder. */
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'redirect'; readonly location: string }
  | { readonly type: 'not found' }

export interface ProxyPrefixes {
  /** Ends with a slash. */
  readonly api: string
  /** Ends with a slash. Absent if no files are served. */
  readonly files?: string | undefined
}

/** Decides what a request is for by its target. The longest prefix wins. */
export function routeRequest(target: string, prefixes: ProxyPrefixes): ProxyRoute {
  const [rawPath, query] = splitTarget(target)
  const path = decodePath(rawPath)
  if (path === undefined || !path.startsWith('/')) return { type: 'not found' }
  const suffix = query === undefined ? '' : `?${query}`
  const clean = posix.normalize(rawPath)
  if (clean !== rawPath) return { type: 'redirect', location: `${clean}${suffix}` }
  const known = [prefixes.api, ...(prefixes.files === undefined ? [] : [prefixes.files])]
  const prefix = known.filter(each => path.startsWith(each)).sort((a, b) => b.length - a.length)[0]
  if (known.includes(`${path}/`)) return { type: 'redirect', location: `${rawPath}/${suffix}` }
  if (prefix === undefined) return { type: 'not found' }
  if (prefix === prefixes.files)
    return { type: 'file', path: posix.normalize(`/${path.slice(prefix.length)}`) }
  if (prefix.startsWith('/api')) return { type: 'api', path, target }
  // The prefix has no characters that are encoded, or the target is encoded again.
  const rest = rawPath.startsWith(prefix)
    ? rawPath.slice(prefix.length)
    : encodeURI(path.slice(prefix.length))
  return { type: 'api', path: `/${path.slice(prefix.length)}`, target: `/${rest}${suffix}` }
}

function splitTarget(target: string): readonly [path: string, query?: string] {
  const question = target.indexOf('?')
  return question === -1 ? [target] : [target.slice(0, question), target.slice(question + 1)]
}

function decodePath(path: string): string | undefined {
  try {
    return decodeURIComponent(path)
  } catch {
    return undefined
  }
}
