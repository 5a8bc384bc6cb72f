/**
 * Validation of signer names such as `example.com/my-signer`: a domain of at least two labels and a path of
 * labels.
 */
import { invalid, required, tooLong, type FieldError } from '../../field-error.ts'
import { checkDns1123Label, checkDns1123Subdomain } from '../../names.ts'
import { quote } from '../../text/quote.ts'

export function validateSignerName(field: string, name: string): FieldError[] {
  if (name === '') return [required(field, '')]
  const [domain = '', path, ...more] = name.split('/')
  if (path === undefined || more.length > 0) {
    const detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
    return [invalid(field, name, detail)]
  }
  const labels = domain.split('.')
  return [
    ...(domain.length > domainMax ? [tooLong(field, domainMax)] : []),
    ...validateParts(field, domain, checkDns1123Label),
    ...(labels.length < 2
      ? [invalid(field, domain, 'should be a domain with at least two segments separated by dots')]
      : []),
    ...validateParts(field, path, checkDns1123Subdomain),
    ...(name.length > nameMax ? [tooLong(field, nameMax)] : []),
  ]
}

const domainMax = 253
/** A domain, a slash, and room for the namespace and name of a service account. */
const nameMax = domainMax + 1 + 253 + 1 + 63

/** Reports only the first invalid part. */
function validateParts(
  field: string,
  text: string,
  check: (part: string) => readonly string[],
): FieldError[] {
  const part = text.split('.').find(each => check(each).length > 0)
  if (part === undefined) return []
  return check(part).map(problem => invalid(field, text, `validating label ${quote(part)}: ${problem}`))
}
