/**
 * The `EncryptionConfiguration` file. Error messages never contain keys.
 * https://kubernetes.io/docs/tasks/administer-cluster/encrypt-data/
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { formatFieldErrors, invalid, required, type FieldError } from '#/api/field-error.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { Platform } from '#/platform/platform.ts'
import {
  integer,
  list,
  readConfigurationFile,
  string,
  struct,
  type ConfigurationKind,
} from '../configuration-file.ts'
import { validateResourceNames } from './resource-names.ts'

/** Providers of some resources; the first one encrypts. */
export interface EncryptedResources {
  /** `secrets`, `deployments.apps`, `*.apps`, `*.`, `*.*`. */
  readonly resources: readonly string[]
  readonly providers: readonly ProviderConfiguration[]
}

export type ProviderConfiguration =
  | { readonly type: 'identity' }
  | { readonly type: 'aesgcm' | 'aescbc' | 'secretbox'; readonly keys: readonly NamedKey[] }
  | { readonly type: 'kms'; readonly name: string; readonly endpoint: string; readonly timeoutMs: number }

export interface NamedKey {
  readonly name: string
  readonly key: KeyObject
}

/** Throws an Error that describes what is invalid. */
export function parseEncryptionConfiguration(text: string): readonly EncryptedResources[] {
  const { resources = [] } = readConfigurationFile(text, configurationKind)
  const errors = validate(resources)
  if (errors.length > 0) throw new Error(formatFieldErrors(errors))
  return resources.map(each => ({
    resources: each.resources ?? [],
    providers: (each.providers ?? []).map(toProvider),
  }))
}

interface ConfigurationFile {
  readonly resources?: readonly ResourceFields[]
}

interface ResourceFields {
  readonly resources?: readonly string[]
  readonly providers?: readonly ProviderFields[]
}

interface ProviderFields {
  readonly aesgcm?: KeyFields
  readonly aescbc?: KeyFields
  readonly secretbox?: KeyFields
  readonly identity?: object
  readonly kms?: KmsFields
}

interface KeyFields {
  readonly keys?: readonly { readonly name?: string; readonly secret?: string }[]
}

interface KmsFields {
  readonly apiVersion?: string
  readonly name?: string
  readonly cachesize?: number
  readonly endpoint?: string
  readonly timeout?: string
}

const keys = struct({ keys: list(struct({ name: string, secret: string })) })

const configurationKind: ConfigurationKind<ConfigurationFile> = {
  group: 'apiserver.config.k8s.io',
  versions: ['v1'],
  kind: 'EncryptionConfiguration',
  schema: struct({
    apiVersion: string,
    kind: string,
    resources: list(
      struct({
        resources: list(string),
        providers: list(
          struct({
            aesgcm: keys,
            aescbc: keys,
            secretbox: keys,
            identity: struct({}),
            kms: struct({
              apiVersion: string,
              name: string,
              cachesize: integer,
              endpoint: string,
              timeout: string,
            }),
          }),
        ),
      }),
    ),
  }),
}

function toProvider({ kms, ...fields }: ProviderFields): ProviderConfiguration {
  if (kms) {
    const { name = '', endpoint = '', timeout } = kms
    return { type: 'kms', name, endpoint, timeoutMs: tryParseDurationMs(timeout ?? '3s') ?? 0 }
  }
  for (const type of ['aesgcm', 'aescbc', 'secretbox'] as const) {
    const given = fields[type]?.keys
    if (given)
      return { type, keys: given.map(({ name = '', secret = '' }) => ({ name, key: keyOf(secret) })) }
  }
  return { type: 'identity' }
}

function keyOf(secret: string): KeyObject {
  return createSecretKey(Buffer.from(secret, 'base64'))
}

function validate(resources: readonly ResourceFields[]): FieldError[] {
  if (resources.length === 0) return [required('resources', 'at least one resources is required')]
  const kmsNames = new Set<string>()
  return resources.flatMap(({ resources: names = [], providers = [] }, index) => {
    const field = `resources[${index}]`
    return [
      ...(names.length === 0
        ? [atLeastOne(`${field}.resources`)]
        : validateResourceNames(`${field}.resources`, names)),
      ...(providers.length === 0 ? [atLeastOne(`${field}.providers`)] : []),
      ...providers.flatMap((each, at) => validateProvider(`${field}.providers[${at}]`, each, kmsNames)),
    ]
  })
}

function atLeastOne(field: string): FieldError {
  return required(field, `at least one ${field} is required`)
}

const aesKeyBytes = [16, 24, 32]
const secretboxKeyBytes = [32]

function validateProvider(field: string, provider: ProviderFields, kmsNames: Set<string>): FieldError[] {
  const [type, ...others] = Object.keys(provider)
  if (type === undefined) {
    const expected = 'KMS, AESGCM, AESCBC, Secretbox, Identity'
    return [invalid(field, '', `provider does not contain any of the expected providers: ${expected}`)]
  }
  if (others.length > 0) {
    const advice = 'should split into different list elements'
    return [invalid(field, '', `more than one provider specified in a single element, ${advice}`)]
  }
  const { aesgcm, aescbc, secretbox, kms } = provider
  if (aesgcm) return validateKeys(`${field}.aesgcm.keys`, aesgcm, aesKeyBytes)
  if (aescbc) return validateKeys(`${field}.aescbc.keys`, aescbc, aesKeyBytes)
  if (secretbox) return validateKeys(`${field}.secretbox.keys`, secretbox, secretboxKeyBytes)
  return kms ? validateKms(`${field}.kms`, kms, kmsNames) : []
}

function validateKeys(
  field: string,
  { keys: given = [] }: KeyFields,
  sizes: readonly number[],
): FieldError[] {
  if (given.length === 0) return [required(field, 'at least one keys is required')]
  return given.flatMap(({ name = '', secret = '' }, index) => {
    const at = `${field}[${index}]`
    const errors = name === '' ? [required(`${at}.name`, 'name is a mandatory field for a key')] : []
    if (secret === '') return [...errors, required(`${at}.secret`, 'secret is a mandatory field for a key')]
    if (!base64.test(secret))
      return [...errors, invalid(`${at}.secret`, 'REDACTED', 'secrets must be base64 encoded')]
    const size = Buffer.from(secret, 'base64').length
    if (sizes.includes(size)) return errors
    const detail = `secret is not of the expected length, got ${size}, expected one of [${sizes.join(' ')}]`
    return [...errors, invalid(`${at}.secret`, 'REDACTED', detail)]
  })
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

function validateKms(field: string, kms: KmsFields, names: Set<string>): FieldError[] {
  const { apiVersion = '', name = '', cachesize, endpoint = '', timeout } = kms
  const errors: FieldError[] = []
  if (name === '') errors.push(required(`${field}.name`, 'name is a mandatory field for a provider'))
  if (name.includes(':')) {
    errors.push(invalid(`${field}.name`, name, `invalid KMS provider name ${name}, must not contain ':'`))
  }
  if (names.has(name)) {
    errors.push(invalid(`${field}.name`, name, `duplicate KMS provider name ${name}, names must be unique`))
  }
  names.add(name)
  if (timeout !== undefined && !((tryParseDurationMs(timeout) ?? 0) > 0)) {
    errors.push(invalid(`${field}.timeout`, timeout, 'timeout should be a positive value'))
  }
  if (endpoint === '')
    errors.push(invalid(`${field}.endpoint`, '', 'endpoint is a mandatory field for a kms'))
  else if (!endpoint.startsWith('unix://')) {
    const scheme = /^([a-z]+):/.exec(endpoint)?.[1] ?? ''
    const detail = `unsupported scheme "${scheme}" for KMS provider, only unix is supported`
    errors.push(invalid(`${field}.endpoint`, endpoint, detail))
  }
  if (apiVersion !== 'v2') {
    const detail = 'unsupported apiVersion for KMS provider, only v2 is supported'
    errors.push(invalid(`${field}.apiVersion`, apiVersion, detail))
  } else if (cachesize !== undefined) {
    errors.push(invalid(`${field}.cachesize`, cachesize, 'cachesize is not supported in v2'))
  }
  return errors
}

/**
 * Reads the configuration file. If it is missing, one is created in which secrets are encrypted with a new
 * key.
 */
export async function ensureEncryptionConfiguration(
  { files, random }: Platform,
  path: string,
): Promise<string> {
  try {
    return Buffer.from(await files.read(path)).toString()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const secret = Buffer.from(random.bytes('encryption key', keyBytes)).toString('base64')
  const configuration = stringifyYaml({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: ['secrets'],
        // `identity` allows reading secrets stored before the key existed.
        providers: [{ aesgcm: { keys: [{ name: 'key1', secret }] } }, { identity: {} }],
      },
    ],
  })
  await files.write(path, configuration, { mode: 0o600 })
  return configuration
}

const keyBytes = 32
