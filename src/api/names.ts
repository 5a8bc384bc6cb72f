/**
 * Checks for names. Each returns a list of error messages, empty if the name is valid, in Kubernetes' words:
 * clients and tests match on them, including the regular expression. That expression is only printed: names
 * are checked by searching for the first illegal character, which takes one pass and no recursion.
 */
import type { Random } from '#/platform/platform.ts'
import { invalid, invalidEach, required, type FieldError } from './field-error.ts'

/** A DNS label of RFC 1123: names of namespaces and containers. */
export function checkDns1123Label(value: string): string[] {
  const messages = tooLongInCharacters(value, labelBytesMax)
  if (!isDns1123Label(value)) {
    // A valid subdomain that is not a label must contain dots.
    messages.push(
      isDns1123Subdomain(value)
        ? 'must not contain dots'
        : regexMessage(dns1123LabelRule, dns1123LabelPattern, ['my-name', '123-abc']),
    )
  }
  return messages
}

/** DNS labels separated by dots: names of most objects. */
export function checkDns1123Subdomain(value: string): string[] {
  const messages = tooLongInCharacters(value, subdomainBytesMax)
  if (!isDns1123Subdomain(value)) messages.push(dns1123SubdomainMessage)
  return messages
}

/** A subdomain whose labels may contain underscores: DNS search domains. */
export function checkDns1123SubdomainWithUnderscore(value: string): string[] {
  const messages = tooLongInCharacters(value, subdomainBytesMax)
  if (value === '' || /[^-._a-z0-9]|^[-.]|[-._]$|[-._]\.|\.[-.]|\._[-_.]|^_[-_.]/.test(value)) {
    messages.push(regexMessage(underscoreSubdomainRule, underscoreSubdomainPattern, ['example.com']))
  }
  return messages
}

/** A DNS label of RFC 1035, which must not start with a digit: names of services. */
export function checkDns1035Label(value: string): string[] {
  const messages = tooLongInCharacters(value, labelBytesMax)
  if (value === '' || /[^-a-z0-9]|^[-0-9]|-$/.test(value)) {
    messages.push(regexMessage(dns1035LabelRule, dns1035LabelPattern, ['my-name', 'abc-123']))
  }
  return messages
}

/** `*.example.com`: the host of an ingress rule. */
export function checkWildcardDns1123Subdomain(value: string): string[] {
  const messages = tooLongInCharacters(value, subdomainBytesMax)
  if (!value.startsWith('*.') || !isDns1123Subdomain(value.slice(2))) {
    messages.push(regexMessage(wildcardRule, wildcardPattern, ['*.example.com']))
  }
  return messages
}

/** A name with an optional prefix, `example.com/my-name`: keys of labels and annotations. */
export function checkQualifiedName(value: string): string[] {
  const slash = value.indexOf('/')
  if (slash === -1) return checkNamePart(value)
  if (value.includes('/', slash + 1)) {
    const prefixRule = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    return [`a valid label key ${labelKeyMessage} ${prefixRule}`]
  }
  const prefix = value.slice(0, slash)
  const problems = prefix === '' ? ['must be non-empty'] : [...tooLongInBytes(prefix, subdomainBytesMax)]
  if (prefix !== '' && !isDns1123Subdomain(prefix)) problems.push(dns1123SubdomainMessage)
  return [...problems.map(problem => `prefix part ${problem}`), ...checkNamePart(value.slice(slash + 1))]
}

export function checkLabelValue(value: string): string[] {
  const messages = tooLongInBytes(value, labelBytesMax)
  if (value !== '' && !isLabelText(value)) {
    messages.push(regexMessage(labelValueRule, labelValuePattern, ['MyValue', 'my_value', '12345']))
  }
  return messages
}

export function checkFinalizerName(value: string): string[] {
  return checkQualifiedName(value)
}

/** Finalizers on objects of built-in groups need a prefix, except for those defined by Kubernetes. */
export function checkBuiltInFinalizerName(value: string): string[] {
  const isKnown = value === 'kubernetes' || value === orphanFinalizer || value === foregroundFinalizer
  if (isKnown || value.includes('/')) return []
  return ['name is neither a standard finalizer name nor is it fully qualified']
}

/** Makes the garbage collector orphan the object's dependents. */
export const orphanFinalizer = 'orphan'
/** Makes the garbage collector delete the object's dependents first. */
export const foregroundFinalizer = 'foregroundDeletion'

/** Names of environment variables generated from keys: letters, digits, `_`, `-` and `.`. */
export function checkEnvVarName(value: string): string[] {
  const isValid = value !== '' && !/[^-._a-zA-Z0-9]|^[0-9]/.test(value)
  const messages = isValid
    ? []
    : [regexMessage(envVarRule, '[-._a-zA-Z][-._a-zA-Z0-9]*', ['my.env-name', 'MY_ENV.NAME', 'MyEnvName1'])]
  return [...messages, ...checkNotParentPath(value)]
}

/** Names of environment variables in a container: printable ASCII except `=`. */
export function checkRelaxedEnvVarName(value: string): string[] {
  if (value === '') return ['environment variable name must be non-empty']
  return /[^\x20-\x7e]|=/.test(value)
    ? ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
    : []
}

/** Keys of a ConfigMap or Secret, which become file names. */
export function checkConfigMapKey(value: string): string[] {
  const messages = tooLongInCharacters(value, subdomainBytesMax)
  if (value === '' || /[^-._a-zA-Z0-9]/.test(value)) {
    messages.push(regexMessage(configMapKeyRule, '[-._a-zA-Z0-9]+', ['key.name', 'KEY_NAME', 'key-name']))
  }
  return [...messages, ...checkNotParentPath(value)]
}

/** A lower-case service name of RFC 6335: names of ports. */
export function checkPortName(value: string): string[] {
  const messages = tooLongInCharacters(value, 15)
  if (value === '' || /[^-a-z0-9]/.test(value)) {
    messages.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  }
  if (!/[a-z]/.test(value)) messages.push('must contain at least one letter (a-z)')
  if (value.includes('--')) messages.push('must not contain consecutive hyphens')
  if (value.startsWith('-') || value.endsWith('-')) messages.push('must not begin or end with a hyphen')
  return messages
}

export function checkPortNumber(value: number): string[] {
  return checkInRange(value, 1, 65_535)
}

/** User and group IDs. */
export function checkUserId(value: number | bigint): string[] {
  return checkInRange(value, 0, 2_147_483_647)
}

export function checkInRange(value: number | bigint, low: number, high: number): string[] {
  return value >= low && value <= high ? [] : [`must be between ${low} and ${high}, inclusive`]
}

export function checkHttpHeaderName(value: string): string[] {
  if (value !== '' && !/[^-A-Za-z0-9]/.test(value)) return []
  const rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
  return [regexMessage(rule, '[-A-Za-z0-9]+', ['X-Header-Name'])]
}

export function checkCIdentifier(value: string): string[] {
  if (value !== '' && !/[^A-Za-z0-9_]|^[0-9]/.test(value)) return []
  return [regexMessage(cIdentifierRule, '[A-Za-z_][A-Za-z0-9_]*', ['my_name', 'MY_NAME', 'MyName'])]
}

/** A name usable as a URL path segment: names of roles and of many other kinds. */
export function checkPathSegmentName(value: string): string[] {
  if (value === '.' || value === '..') return [`may not be '${value}'`]
  return checkPathSegmentPrefix(value)
}

/** The prefix of such a name. */
export function checkPathSegmentPrefix(value: string): string[] {
  return ['/', '%'].filter(each => value.includes(each)).map(each => `may not contain '${each}'`)
}

/** A domain name with at least three labels. */
export function validateFullyQualifiedName(field: string, name: string): FieldError[] {
  if (name === '') return [required(field, '')]
  const messages = checkDns1123Subdomain(name)
  if (messages.length > 0) return [invalid(field, name, messages.join(','))]
  if (name.split('.').length >= 3) return []
  return [invalid(field, name, 'should be a domain with at least three segments separated by dots')]
}

/** A domain name with at least two labels; a trailing dot is allowed. */
export function validateFullyQualifiedDomainName(field: string, name: string): FieldError[] {
  if (name === '') return [required(field, '')]
  const domain = name.endsWith('.') ? name.slice(0, -1) : name
  const messages = checkDns1123Subdomain(domain)
  if (messages.length > 0) return [invalid(field, domain, messages.join(','))]
  const labels = domain.split('.')
  if (labels.length < 2) {
    return [invalid(field, domain, 'should be a domain with at least two segments separated by dots')]
  }
  const bad = labels.find(label => checkDns1123Label(label).length > 0)
  return bad === undefined ? [] : [invalid(field, bad, checkDns1123Label(bad).join(','))]
}

/** `example.com/any/path`. */
export function validateDomainPrefixedPath(field: string, value: string): FieldError[] {
  if (value === '') return [required(field, '')]
  const slash = value.indexOf('/')
  if (slash <= 0 || slash === value.length - 1) {
    return [invalid(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
  }
  const host = value.slice(0, slash)
  const path = value.slice(slash + 1)
  return [
    ...invalidEach(field, host, checkDns1123Subdomain(host)),
    ...invalidEach(field, path, checkHttpPath(path)),
  ]
}

/** `example.com/my-key`. */
export function validateDomainPrefixedKey(field: string, value: string): FieldError[] {
  if (value === '') return [required(field, '')]
  const messages = checkQualifiedName(value)
  if (messages.length > 0) return invalidEach(field, value, messages)
  if (value.includes('/')) return []
  return [invalid(field, value, 'must be a domain-prefixed key (such as "acme.io/foo")')]
}

/** Only characters allowed in a path by RFC 3986. */
export function checkHttpPath(value: string): string[] {
  if (value !== '' && !/[^A-Za-z0-9/\-._~%!$&'()*+,;=:]/.test(value)) return []
  return [regexMessage('Invalid path', "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+", [])]
}

/**
 * Name validation of a kind: a check for `name` and one for `generateName`, which may end in characters that
 * a name may not, since a suffix is appended.
 */
export interface NameRule {
  readonly name: (value: string) => string[]
  readonly prefix: (value: string) => string[]
}

export const subdomainNames: NameRule = nameRule(checkDns1123Subdomain)
export const labelNames: NameRule = nameRule(checkDns1123Label)
export const dns1035LabelNames: NameRule = nameRule(checkDns1035Label)
export const pathSegmentNames: NameRule = { name: checkPathSegmentName, prefix: checkPathSegmentPrefix }

/** A prefix that ends in a dash is checked as if it ended in a letter. */
function nameRule(name: (value: string) => string[]): NameRule {
  return {
    name,
    prefix: value => name(value.length > 1 && value.endsWith('-') ? `${value.slice(0, -2)}a` : value),
  }
}

/**
 * Maximum length of the prefix of a generated name; a random suffix of 5 fills the 63 characters of a DNS
 * label.
 */
const generatedPrefixMax = 58
const generatedLetters = 5
/** No vowels, to avoid words, and no characters that are easily confused. */
const alphabet = 'bcdfghjklmnpqrstvwxz2456789'

/** Generates a name from a prefix. */
export function generateName(prefix: string, random: Random): string {
  let name = prefix.slice(0, generatedPrefixMax)
  for (let drawn = 0; drawn < generatedLetters; drawn++) {
    name += alphabet.charAt(random.integer('generate-name', alphabet.length))
  }
  return name
}

/** The rule, its regular expression and examples. The double space is Kubernetes'. */
export function regexMessage(rule: string, pattern: string, examples: readonly string[]): string {
  const shown = `regex used for validation is '${pattern}'`
  if (examples.length === 0) return `${rule} (${shown})`
  return `${rule} (e.g. ${examples.map(each => `'${each}', `).join(' or ')}${shown})`
}

const labelBytesMax = 63
const subdomainBytesMax = 253

const dns1123LabelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const dns1123LabelRule =
  'a lowercase RFC 1123 label must consist of lower case alphanumeric characters ' +
  "or '-', and must start and end with an alphanumeric character"
const dns1123SubdomainPattern = `${dns1123LabelPattern}(\\.${dns1123LabelPattern})*`
const dns1123SubdomainRule =
  'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ' +
  "characters, '-' or '.', and must start and end with an alphanumeric character"
const dns1123SubdomainMessage = regexMessage(dns1123SubdomainRule, dns1123SubdomainPattern, ['example.com'])
const underscoreLabelPattern = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const underscoreSubdomainPattern = `${underscoreLabelPattern}(\\.${underscoreLabelPattern})*`
const underscoreSubdomainRule =
  'a lowercase RFC 1123 subdomain must consist of lower case alphanumeric ' +
  "characters, '_', '-' or '.', and must start and end with an alphanumeric character"
const dns1035LabelPattern = '[a-z]([-a-z0-9]*[a-z0-9])?'
const dns1035LabelRule =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', " +
  'start with an alphabetic character, and end with an alphanumeric character'
const wildcardPattern = `\\*\\.${dns1123SubdomainPattern}`
const wildcardRule =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS " +
  "subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an " +
  'alphanumeric character'
const labelKeyPattern = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const labelKeyRule =
  "must consist of alphanumeric characters, '-', '_' or '.', " +
  'and must start and end with an alphanumeric character'
const labelKeyMessage = regexMessage(labelKeyRule, labelKeyPattern, ['MyName', 'my.name', '123-abc'])
const labelValuePattern = `(${labelKeyPattern})?`
const labelValueRule =
  'a valid label must be an empty string or consist of alphanumeric characters, ' +
  "'-', '_' or '.', and must start and end with an alphanumeric character"
const envVarRule =
  'a valid environment variable name must consist of alphabetic characters, digits, ' +
  "'_', '-', or '.', and must not start with a digit"
const configMapKeyRule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
const cIdentifierRule =
  "a valid C identifier must start with alphabetic character or '_', " +
  "followed by a string of alphanumeric characters or '_'"

function isDns1123Label(value: string): boolean {
  return value !== '' && !/[^-a-z0-9]|^-|-$/.test(value)
}

function isDns1123Subdomain(value: string): boolean {
  return value !== '' && !/[^-.a-z0-9]|^[-.]|[-.]$|[-.]\.|\.-/.test(value)
}

function isLabelText(value: string): boolean {
  return value !== '' && !/[^-A-Za-z0-9_.]|^[-_.]|[-_.]$/.test(value)
}

function checkNamePart(name: string): string[] {
  const messages: string[] = []
  if (name === '') messages.push('name part must be non-empty')
  for (const message of tooLongInBytes(name, labelBytesMax)) messages.push(`name part ${message}`)
  if (!isLabelText(name)) messages.push(`name part ${labelKeyMessage}`)
  return messages
}

/** Rejects names that would be a parent directory when used as a file name. */
function checkNotParentPath(value: string): string[] {
  if (value === '.' || value === '..') return [`must not be '${value}'`]
  return value.startsWith('..') ? ["must not start with '..'"] : []
}

function tooLongInCharacters(value: string, bytesMax: number): string[] {
  return isLongerThan(value, bytesMax) ? [`must be no more than ${bytesMax} characters`] : []
}

function tooLongInBytes(value: string, bytesMax: number): string[] {
  return isLongerThan(value, bytesMax) ? [`must be no more than ${bytesMax} bytes`] : []
}

/** Counts UTF-8 bytes, as Kubernetes does regardless of its messages. */
function isLongerThan(value: string, bytesMax: number): boolean {
  if (value.length > bytesMax) return true
  return value.length * 3 > bytesMax && Buffer.byteLength(value) > bytesMax
}
