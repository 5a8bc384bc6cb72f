/** Rules of Secret. Built-in types require certain keys; other types may contain any data. */
import { forbiddenField, invalid, required, tooLong, type FieldError } from '../../field-error.ts'
import type { Secret } from '../../generated/core/v1.ts'
import { describeJsonSyntaxError } from '../../text/json-syntax-error.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { annotationOf } from '../../metadata.ts'
import { dataBytesMax } from './config-map.ts'
import { decodedBytes, isChangedData, validateDataKeys, type Data } from './data-validation.ts'
import { withDefaults } from '../../copy-on-write.ts'

export const secretRules: KindRules<Secret> = {
  withDefaults: secret => withDefaults(withStringData(secret), { type: 'Opaque' }),
  prepareForUpdate: (secret, { type }) => withDefaults(secret, { ...(type && { type }) }),
  validate: validateSecret,
  validateUpdate: (secret, old) => [
    ...validateImmutable(secret.type ?? '', old.type ?? '', 'type'),
    ...validateImmutability(secret, old),
    ...validateSecret(secret),
  ],
  selectableFields: { type: secret => secret.type ?? '' },
}

/** Merges the write-only `stringData` into `data`. */
function withStringData(secret: Secret): Secret {
  const { stringData, ...rest } = secret
  if (stringData === undefined) return secret
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString('base64')])
  if (encoded.length === 0) return rest
  return { ...rest, data: { ...secret.data, ...(Object.fromEntries(encoded) as Data) } }
}

function validateSecret(secret: Secret): FieldError[] {
  const { data = {} } = secret
  const errors = validateDataKeys('data', Object.keys(data))
  if (decodedBytes(data) > dataBytesMax) errors.push(tooLong('data', dataBytesMax))
  return [...errors, ...validateType(secret, data)]
}

function validateType(secret: Secret, data: Data): FieldError[] {
  switch (secret.type) {
    case 'kubernetes.io/service-account-token':
      return validateServiceAccountToken(secret)
    case 'kubernetes.io/dockercfg':
      return validateJson(data, '.dockercfg')
    case 'kubernetes.io/dockerconfigjson':
      return validateJson(data, '.dockerconfigjson')
    case 'kubernetes.io/basic-auth':
      return validateBasicAuth(data)
    case 'kubernetes.io/ssh-auth':
      return data['ssh-privatekey'] ? [] : [required('data[ssh-privatekey]', '')]
    case 'kubernetes.io/tls':
      return validateKeys(data, ['tls.crt', 'tls.key'])
    case undefined:
    default:
      return []
  }
}

const serviceAccountName = 'kubernetes.io/service-account.name'

/** The token controller adds the token and needs the name of the service account. */
function validateServiceAccountToken(secret: Secret): FieldError[] {
  if (annotationOf(secret, serviceAccountName)) return []
  return [required(`metadata.annotations[${serviceAccountName}]`, '')]
}

/** One of username and password is enough. */
function validateBasicAuth(data: Data): FieldError[] {
  const errors = validateKeys(data, ['username', 'password'])
  return errors.length === 2 ? errors : []
}

function validateKeys(data: Data, keys: readonly string[]): FieldError[] {
  return keys.filter(key => !Object.hasOwn(data, key)).map(key => required(`data[${key}]`, ''))
}

function validateJson(data: Data, key: string): FieldError[] {
  const value = Object.hasOwn(data, key) ? data[key] : undefined
  if (value === undefined) return [required(`data[${key}]`, '')]
  const problem = describeJsonProblem(Buffer.from(value, 'base64').toString())
  return problem === undefined ? [] : [invalid(`data[${key}]`, '<secret contents redacted>', problem)]
}

/** The reason that a text is not a JSON object; undefined if it is. */
function describeJsonProblem(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && !Array.isArray(value)) return undefined
    const type = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
    return `json: cannot unmarshal ${type} into Go value of type map[string]interface {}`
  } catch {
    return describeJsonSyntaxError(text)
  }
}

function validateImmutability(secret: Secret, old: Secret): FieldError[] {
  if (old.immutable !== true) return []
  const errors: FieldError[] = []
  const detail = 'field is immutable when `immutable` is set'
  if (secret.immutable !== true) errors.push(forbiddenField('immutable', detail))
  if (isChangedData(secret.data, old.data)) errors.push(forbiddenField('data', detail))
  return errors
}
