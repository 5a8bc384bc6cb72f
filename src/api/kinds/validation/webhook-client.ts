/** Validation of webhook client configuration: a URL or a reference to a service. */
import { invalid, required, type FieldError } from '../../field-error.ts'
import { checkDns1035Label, checkDns1123Subdomain, checkPortNumber } from '../../names.ts'
import { withField, withMissing } from '../../copy-on-write.ts'
import type { Unchecked } from './unchecked.ts'

export interface WebhookClient {
  readonly url?: string
  readonly service?: WebhookService
  readonly caBundle?: string
}

export interface WebhookService {
  readonly namespace: string
  readonly name: string
  readonly path?: string
  readonly port?: number
}

export function withServicePort<T extends WebhookClient>(client: T): T {
  return withField<WebhookClient, 'service'>(client, 'service', service => {
    return withMissing(service, { port: 443 })
  }) as T
}

export function validateWebhookClient(field: string, client: Unchecked<WebhookClient>): FieldError[] {
  const { url, service } = client
  if (url !== undefined && service === undefined) return validateUrl(`${field}.url`, url)
  if (service !== undefined && url === undefined) return validateService(`${field}.service`, service)
  return [required(field, 'exactly one of url or service is required')]
}

/** Review versions must include one that the server supports. */
export function validateReviewVersions(
  field: string,
  versions: readonly string[],
  known: readonly string[],
): FieldError[] {
  const seen = new Set<string>()
  const errors: FieldError[] = []
  for (const [index, version] of versions.entries()) {
    const problems = seen.has(version) ? ['duplicate version'] : checkDns1035Label(version)
    errors.push(...problems.map(problem => invalid(`${field}[${index}]`, version, problem)))
    seen.add(version)
  }
  if (known.some(version => seen.has(version))) return errors
  return [...errors, invalid(field, versions, `must include at least one of ${known.join(', ')}`)]
}

const form = '; desired format: https://host[/path]'

/** The components of a URL by the expression of RFC 3986, appendix B, which matches every text. */
const parts = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/

function validateUrl(field: string, url: string): FieldError[] {
  // oxlint-disable-next-line no-control-regex
  if (/[\x00-\x1f\x7f]/.test(url)) {
    return [required(field, `url must be a valid URL: net/url: invalid control character in URL${form}`)]
  }
  const [, scheme = '', authority = '', , query = '', fragment = ''] = parts.exec(url) ?? []
  const at = authority.lastIndexOf('@')
  const host = authority.slice(at + 1)
  const errors: FieldError[] = []
  if (scheme.toLowerCase() !== 'https') {
    errors.push(invalid(field, scheme, `'https' is the only allowed URL scheme${form}`))
  }
  if (host === '') errors.push(invalid(field, host, `host must be specified${form}`))
  if (at !== -1) {
    errors.push(invalid(field, authority.slice(0, at), 'user information is not permitted in the URL'))
  }
  if (fragment !== '') errors.push(invalid(field, fragment, 'fragments are not permitted in the URL'))
  if (query !== '') errors.push(invalid(field, query, 'query parameters are not permitted in the URL'))
  return errors
}

function validateService(field: string, service: Unchecked<WebhookService>): FieldError[] {
  const { name, namespace, port = 0, path = '' } = service
  const problems = checkPortNumber(port)
  return [
    ...(name ? [] : [required(`${field}.name`, '')]),
    ...(namespace ? [] : [required(`${field}.namespace`, '')]),
    ...(problems.length === 0
      ? []
      : [invalid(`${field}.port`, port, `port is not valid: ${problems.join(', ')}`)]),
    ...validatePath(`${field}.path`, path),
  ]
}

/** A path of segments with a leading slash and an optional trailing slash. */
function validatePath(field: string, path: string): FieldError[] {
  if (path === '' || path === '/') return []
  if (path === '//') return [invalid(field, path, 'segment[0] may not be empty')]
  const errors = path.startsWith('/') ? [] : [invalid(field, path, "must start with a '/'")]
  const segments = path.slice(1, path.endsWith('/') ? -1 : undefined).split('/')
  for (const [index, segment] of segments.entries()) {
    const problems =
      segment === ''
        ? [`segment[${index}] may not be empty`]
        : checkDns1123Subdomain(segment).map(problem => `segment[${index}]: ${problem}`)
    errors.push(...problems.map(problem => invalid(field, path, problem)))
  }
  return errors
}
