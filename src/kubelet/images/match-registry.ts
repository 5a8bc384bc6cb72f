/**
 * True if registry credentials apply to a repository. Host labels may contain wildcards, the port must match,
 * and the path must be a prefix. https://kubernetes.io/docs/concepts/containers/images/#config-json
 */
export function matchesRegistry(pattern: string, repository: string): boolean {
  const wanted = split(pattern)
  const given = split(repository)
  return (
    wanted.port === given.port &&
    wanted.labels.length === given.labels.length &&
    given.path.startsWith(wanted.path) &&
    wanted.labels.every((label, index) => matchesLabel(label, given.labels[index] ?? ''))
  )
}

/** Registry of a key in a Docker configuration: `https://index.docker.io/v1/` becomes `index.docker.io`. */
export function registryOfKey(key: string): string {
  const plain = key.replace(/^https?:\/\//, '').replace(/[?#].*$/s, '')
  const slash = plain.indexOf('/')
  if (slash < 0) return plain
  const path = plain.slice(slash).replace(/^\/v[12]\//, '/')
  return path === '/' ? plain.slice(0, slash) : `${plain.slice(0, slash)}${path}`
}

/** True for Docker Hub. Its credentials use a special key. */
export function isDefaultRegistry(repository: string): boolean {
  return repository.startsWith('docker.io/') || repository.startsWith(`${defaultRegistry}/`)
}

export const defaultRegistry = 'index.docker.io'

interface Place {
  readonly labels: readonly string[]
  readonly port: string
  readonly path: string
}

function split(text: string): Place {
  const slash = text.indexOf('/')
  const host = slash < 0 ? text : text.slice(0, slash)
  const [, name = host, port = ''] = /^(.*?)(?::(\d*))?$/s.exec(host) ?? []
  return { labels: name.split('.'), port, path: slash < 0 ? '' : text.slice(slash) }
}

/** `*` matches any characters, `?` one. Runs in O(n*m) time. */
function matchesLabel(pattern: string, text: string): boolean {
  let at = 0
  let next = 0
  let star = -1
  let resume = 0
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = next++
      resume = at
    } else if (next < pattern.length && (pattern[next] === '?' || pattern[next] === text[at])) {
      next++
      at++
    } else if (star >= 0) {
      next = star + 1
      at = ++resume
    } else return false
  }
  while (pattern[next] === '*') next++
  return next === pattern.length
}
