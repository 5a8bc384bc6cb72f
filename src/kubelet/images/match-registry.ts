/**
 * Whether credentials for a registry are for this repository. Labels of the host may have wildcards, the port must be
 * the same, and the path is the beginning of the repository's.
 * https://kubernetes.io/docs/concepts/containers/images/#config-json
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

/** Where a key of a docker configuration is for: `https://index.docker.io/v1/` is for `index.docker.io`. */
export function registryOfKey(key: string): string {
  const plain = key.replace(/^https?:\/\//, '').replace(/[?#].*$/s, '')
  const slash = plain.indexOf('/')
  if (slash < 0) return plain
  const path = plain.slice(slash).replace(/^\/v[12]\//, '/')
  return path === '/' ? plain.slice(0, slash) : `${plain.slice(0, slash)}${path}`
}

/** Whether the repository is one of Docker Hub, for which credentials have a name of their own. */
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

/** `*` stands for any characters, `?` for one. It takes no longer than one length times the other. */
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
