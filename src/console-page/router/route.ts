/** What the address shows: `#/pods/default/web-0?tab=logs` has the path `['pods', 'default', 'web-0']`. */
export interface Route {
  readonly path: readonly string[]
  readonly query: Readonly<Record<string, string>>
}

/** Stands for the namespace of objects that are in none. No namespace has this name. */
export const noNamespace = '-'

export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#?\/?/, '').split('?', 2)
  const segments = path.split('/').filter(Boolean).map(decodeSegment)
  return { path: segments, query: Object.fromEntries(new URLSearchParams(query)) }
}

/** Parameters that are undefined or empty are left out. */
export function formatRoute(
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const parameters = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const text = new URLSearchParams(parameters).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text && `?${text}`}`
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
