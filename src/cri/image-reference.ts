/**
 * Parses and normalizes image names: `busybox` becomes `docker.io/library/busybox:latest`. Follows the rules
 * of the distribution project, like all runtimes.
 */
export interface ImageReference {
  /** Registry host with port: `docker.io`, `localhost:5000`. */
  readonly domain: string
  readonly path: string
  readonly tag?: string
  /** `sha256:...` */
  readonly digest?: string
}

/** The text is not a valid image reference. The message is the distribution project's. */
export class ImageReferenceError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ImageReferenceError'
  }
}

/** Throws ImageReferenceError. */
export function parseImageReference(text: string): ImageReference {
  if (/^[a-f0-9]{64}$/.test(text)) {
    throw new ImageReferenceError(
      `invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`,
    )
  }
  const [domain, rest] = splitDomain(text)
  const [repository = ''] = rest.split(':', 1)
  if (repository.toLowerCase() !== repository) {
    throw new ImageReferenceError(
      `invalid reference format: repository name (${repository}) must be lowercase`,
    )
  }
  const { path, tag, digest } = partsPattern.exec(rest)?.groups ?? {}
  const isDigestKnown = digest === undefined || isKnownDigest(digest)
  if (!domainPattern.test(domain) || path === undefined || !path.split('/').every(isComponent)) {
    throw new ImageReferenceError('invalid reference format')
  }
  if (path.length > pathCharactersMax) {
    throw new ImageReferenceError(`repository name must not be more than ${pathCharactersMax} characters`)
  }
  if (!isDigestKnown) throw new ImageReferenceError(digestError(digest))
  return { domain, path, ...(tag !== undefined && { tag }), ...(digest !== undefined && { digest }) }
}

/** The name without tag and digest. */
export function repositoryOf({ domain, path }: ImageReference): string {
  return `${domain}/${path}`
}

/** The fully qualified name, with the digest if present, otherwise with a tag. Throws ImageReferenceError. */
export function normalizeImage(text: string): string {
  const reference = parseImageReference(text)
  const { tag = 'latest', digest } = reference
  return digest === undefined ? `${repositoryOf(reference)}:${tag}` : `${repositoryOf(reference)}@${digest}`
}

const defaultDomain = 'docker.io'
const legacyDomain = 'index.docker.io'
const pathCharactersMax = 255

const label = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?'
const domainPattern = new RegExp(`^(?:${label}(?:\\.${label})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?$`)
const partsPattern =
  /^(?<path>[^:@]+)(?::(?<tag>\w[\w.-]{0,127}))?(?:@(?<digest>[A-Za-z][\w+.-]*:[0-9a-fA-F]{32,}))?$/

function splitDomain(text: string): readonly [domain: string, rest: string] {
  const slash = text.indexOf('/')
  if (slash < 0) return [defaultDomain, `library/${text}`]
  const first = text.slice(0, slash)
  const isDomain = first === 'localhost' || /[.:]/.test(first) || first.toLowerCase() !== first
  const domain = !isDomain || first === legacyDomain ? defaultDomain : first
  const rest = isDomain ? text.slice(slash + 1) : text
  return [domain, domain === defaultDomain && !rest.includes('/') ? `library/${rest}` : rest]
}

/** Lowercase alphanumeric words separated by one dot, one or two underscores, or any number of dashes. */
function isComponent(text: string): boolean {
  return (
    /^[a-z0-9]/.test(text) && /[a-z0-9]$/.test(text) && !/[^a-z0-9._-]|\.[._-]|_[.-]|_{3}|-[._]/.test(text)
  )
}

const digestCharacters: Readonly<Record<string, number | undefined>> = { sha256: 64, sha384: 96, sha512: 128 }

function isKnownDigest(digest: string): boolean {
  const [algorithm = '', encoded = ''] = digest.split(':')
  return encoded.length === digestCharacters[algorithm] && /^[a-f0-9]+$/.test(encoded)
}

function digestError(digest: string): string {
  const [algorithm = '', encoded = ''] = digest.split(':')
  const length = digestCharacters[algorithm]
  if (length === undefined) return 'unsupported digest algorithm'
  return encoded.length === length ? 'invalid checksum digest format' : 'invalid checksum digest length'
}
