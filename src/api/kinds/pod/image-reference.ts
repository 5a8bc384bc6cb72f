/**
 * Image reference parsing for the default pull policy: `registry.example.com:5000/team/app:1.2@sha256:...`.
 */

/** `Always` for the mutable tag `latest`, otherwise `IfNotPresent`. */
export function pullPolicyFor(image: string): 'Always' | 'IfNotPresent' {
  return tagOf(image) === 'latest' ? 'Always' : 'IfNotPresent'
}

/** The tag; `latest` if neither tag nor digest is given; empty if the reference is invalid. */
function tagOf(image: string): string {
  const at = image.indexOf('@')
  const name = at === -1 ? image : image.slice(0, at)
  const slash = name.lastIndexOf('/')
  const colon = name.indexOf(':', slash + 1)
  const repository = colon === -1 ? name : name.slice(0, colon)
  if (!isRepository(repository)) return ''
  if (colon !== -1) return name.slice(colon + 1)
  return at === -1 ? 'latest' : ''
}

const repositoryLengthMax = 255

/** An optional host, which may contain capital letters, and a lower-case path. */
function isRepository(repository: string): boolean {
  const slash = repository.indexOf('/')
  const first = repository.slice(0, Math.max(slash, 0))
  const isHost = /[.:A-Z]/.test(first) || first === 'localhost'
  const path = isHost ? repository.slice(slash + 1) : repository
  if (repository.length > repositoryLengthMax) return false
  return /^[a-z0-9]/.test(path) && !/[^-a-z0-9._/]|[-._/]$|\/[-._/]|[-._]\//.test(path)
}
