import { createHash } from 'node:crypto'
import type { Secret } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { messageOf } from '#/base/message-of.ts'
import { CriError, type ContainerRuntime } from '#/cri/cri.ts'
import { asObject, type JsonObject } from './json-object.ts'
import { defaultRegistry, isDefaultRegistry, matchesRegistry, registryOfKey } from './match-registry.ts'

/** Registry credentials and the secret that contains them. */
export interface PullCredential {
  readonly username: string
  readonly password: string
  /** Identifies username and password without revealing them. */
  readonly hash: string
  readonly source: SecretSource
}

export interface SecretSource {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

/** The secret's content does not match its type. */
export class PullSecretError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PullSecretError'
  }
}

/** Credentials for a repository in the order to try: most specific match first. Throws PullSecretError. */
export function pullCredentials(
  secrets: readonly Stored<Secret>[],
  repository: string,
): readonly PullCredential[] {
  const byRegistry = new Map<string, PullCredential[]>()
  for (const [registry, credential] of secrets.flatMap(readSecret)) {
    byRegistry.set(registry, [...(byRegistry.get(registry) ?? []), credential])
  }
  const registries = [...byRegistry.keys()].sort().reverse()
  const found = registries
    .filter(registry => matchesRegistry(registry, repository))
    .flatMap(registry => byRegistry.get(registry) ?? [])
  if (found.length > 0 || !isDefaultRegistry(repository)) return found
  return byRegistry.get(defaultRegistry) ?? []
}

function readSecret(secret: Stored<Secret>): (readonly [registry: string, credential: PullCredential])[] {
  try {
    return Object.entries(registriesIn(secret)).map(([key, entry]) => {
      return [registryOfKey(key), credentialOf(secret, entry)] as const
    })
  } catch (error) {
    // A JSON parser's error message could reveal the secret.
    const reason = error instanceof TypeError ? error.message : 'it holds no JSON'
    const message = `cannot read image pull secret ${secret.metadata.name}: ${reason}`
    throw new PullSecretError(message, { cause: error })
  }
}

/** Entries by key of the Docker configuration; empty for secrets of other types. */
function registriesIn({ type, data = {} }: Secret): JsonObject {
  if (type === 'kubernetes.io/dockerconfigjson') {
    const text = data['.dockerconfigjson']
    return text ? asObject(parse(text)['auths'] ?? {}, 'auths') : {}
  }
  const text = type === 'kubernetes.io/dockercfg' ? data['.dockercfg'] : undefined
  return text ? parse(text) : {}
}

function parse(base64: string): JsonObject {
  return asObject(JSON.parse(Buffer.from(base64, 'base64').toString()), 'its content')
}

function credentialOf({ metadata }: Stored<Secret>, value: unknown): PullCredential {
  const { namespace = '', name, uid } = metadata
  const entry = asObject(value, 'an entry')
  const { auth } = entry
  const pair = typeof auth === 'string' && auth !== '' ? decodeAuth(auth) : undefined
  const { username, password } = pair ?? {
    username: textOf(entry['username']),
    password: textOf(entry['password']),
  }
  const email = textOf(entry['email'])
  return {
    username,
    password,
    hash: createHash('sha256').update(JSON.stringify({ username, password, email })).digest('hex'),
    source: { namespace, name, uid },
  }
}

function decodeAuth(auth: string): { readonly username: string; readonly password: string } {
  const text = Buffer.from(auth, 'base64').toString()
  const colon = text.indexOf(':')
  if (colon < 0) {
    throw new TypeError('unable to parse auth field, must be formatted as base64(username:password)')
  }
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export interface Pulled {
  readonly id: string
  /** Absent for an anonymous pull. */
  readonly credential?: PullCredential
}

interface PullRequest {
  readonly image: string
  readonly credentials: readonly PullCredential[]
  readonly signal: AbortSignal
}

/** Tries the credentials in order. Throws the errors of all attempts. */
export async function pullWith(
  runtime: Pick<ContainerRuntime, 'pullImage'>,
  { image, credentials, signal }: PullRequest,
): Promise<Pulled> {
  if (credentials.length === 0) return { id: await runtime.pullImage(image, undefined, { signal }) }
  const errors: unknown[] = []
  for (const credential of credentials) {
    const { username, password } = credential
    try {
      return { id: await runtime.pullImage(image, { username, password }, { signal }), credential }
    } catch (error) {
      signal.throwIfAborted()
      errors.push(error)
    }
  }
  if (errors.length === 1) throw errors[0]
  const messages = new Set(errors.map(error => messageOf(error)))
  const text = [...messages].join(', ')
  const cause = new AggregateError(errors)
  throw new CriError('failed', messages.size === 1 ? text : `[${text}]`, { cause })
}
