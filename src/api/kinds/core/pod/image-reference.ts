/** What can be told of an image from its name: `registry.example.com:5000/team/app:1.2@sha256:...`. */

/** What is pulled again whenever a container starts is what may change under its name: the tag `latest`. */
export function pullPolicyFor(image: string): 'Always' | 'IfNotPresent' {
  return tagOf(image) === 'latest' ? 'Always' : 'IfNotPresent'
}

/** The tag, `latest` where neither tag nor digest is given; empty when it is no image's name. */
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

/** A host, which may have capital letters, and lower-case parts. */
function isRepository(repository: string): boolean {
  const slash = repository.indexOf('/')
  const first = repository.slice(0, Math.max(slash, 0))
  const isHost = /[.:A-Z]/.test(first) || first === 'localhost'
  const path = isHost ? repository.slice(slash + 1) : repository
  return /^[a-z0-9]/.test(path) && !/[^-a-z0-9._/]|[-._/]$|\/[-._/]|[-._]\//.test(path)
}
