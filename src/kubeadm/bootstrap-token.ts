/**
 * Bootstrap tokens, with which machines join a cluster: their text form and their Secrets.
 * https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/
 */
import type { Secret } from '#/api/generated/core/v1.ts'
import { formatTime, parseTime } from '#/api/text/time.ts'
import type { Random } from '#/platform/platform.ts'

export interface BootstrapToken {
  readonly id: string
  readonly secret: string
  readonly description: string
  /** Undefined when the token does not expire. */
  readonly expiresMs: number | undefined
  readonly usages: readonly string[]
  /** Groups in addition to `system:bootstrappers`. */
  readonly groups: readonly string[]
}

export const bootstrapTokenPattern = String.raw`\A([a-z0-9]{6})\.([a-z0-9]{16})\z`
export const bootstrapTokenIdPattern = String.raw`\A([a-z0-9]{6})\z`
export const bootstrapTokenUsages: readonly string[] = ['signing', 'authentication']
/** The group of joining nodes, to which kubeadm's roles are bound. */
export const nodeBootstrapTokenGroup = 'system:bootstrappers:kubeadm:default-node-token'
export const defaultTokenTtlMs = 24 * 3_600_000

/** Undefined when the text is not of the form `abcdef.0123456789abcdef`. */
export function parseBootstrapToken(
  text: string,
): { readonly id: string; readonly secret: string } | undefined {
  const [, id, secret] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(text) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

/** The ID of a token, or of a text that is only an ID. */
export function bootstrapTokenId(text: string): string | undefined {
  return /^[a-z0-9]{6}$/.test(text) ? text : parseBootstrapToken(text)?.id
}

export function generateBootstrapToken(random: Random): string {
  return `${randomText(random, 6)}.${randomText(random, 16)}`
}

const alphabet = '0123456789abcdefghijklmnopqrstuvwxyz'

/** Bytes above the last multiple of the alphabet's length are drawn again, so that no letter is more likely. */
function randomText(random: Random, length: number): string {
  const limit = 256 - (256 % alphabet.length)
  let text = ''
  while (text.length < length) {
    const [byte = limit] = random.bytes('bootstrap-token', 1)
    if (byte < limit) text += alphabet[byte % alphabet.length]!
  }
  return text
}

/** One line; undefined when the usages and groups are valid. */
export function validateBootstrapToken({
  usages,
  groups,
}: Pick<BootstrapToken, 'usages' | 'groups'>): string | undefined {
  const usage = usages.find(each => !bootstrapTokenUsages.includes(each))
  if (usage !== undefined)
    return `invalid bootstrap token usage ${JSON.stringify(usage)}: must be one of ${bootstrapTokenUsages.join(', ')}`
  if (groups.length > 0 && !usages.includes('authentication'))
    return 'token groups cannot be specified unless --usages includes "authentication"'
  const group = groups.find(each => !groupForm.test(each))
  if (group === undefined) return undefined
  return `bootstrap group ${JSON.stringify(group)} is invalid (must match ${groupPattern})`
}

const groupPattern = String.raw`\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z`
const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/

export function bootstrapTokenSecret(token: BootstrapToken): Secret {
  const { id, secret, description, expiresMs, usages, groups } = token
  const texts: readonly (readonly [string, string])[] = [
    ['token-id', id],
    ['token-secret', secret],
    ['description', description],
    ['expiration', expiresMs === undefined ? '' : formatTime(expiresMs)],
    ...usages.map(usage => [`${usagePrefix}${usage}`, 'true'] as const),
    ['auth-extra-groups', groups.join(',')],
  ]
  return {
    metadata: { namespace: 'kube-system', name: bootstrapTokenSecretName(id) },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(
      texts
        .filter(([, text]) => text !== '')
        .map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    ),
  }
}

export function bootstrapTokenSecretName(id: string): string {
  return `bootstrap-token-${id}`
}

const usagePrefix = 'usage-bootstrap-'

/** Returns the reason when the Secret is not a valid bootstrap token. */
export function readBootstrapTokenSecret({ metadata, data = {} }: Secret): BootstrapToken | string {
  const text = (key: string): string =>
    Object.hasOwn(data, key) ? Buffer.from(data[key]!, 'base64').toString() : ''
  const { name = '' } = metadata
  const [id, secret, expiration] = [text('token-id'), text('token-secret'), text('expiration')]
  if (parseBootstrapToken(`${id}.${secret}`) === undefined)
    return `Secret ${name} has no valid token-id and token-secret`
  if (name !== bootstrapTokenSecretName(id))
    return `Secret ${name} must be named ${bootstrapTokenSecretName(id)}`
  const expiresMs = expiration === '' ? undefined : parseTime(expiration)
  if (expiration !== '' && expiresMs === undefined)
    return `Secret ${name} has an expiration that is not a time: ${JSON.stringify(expiration)}`
  const usages = Object.keys(data)
    .filter(key => key.startsWith(usagePrefix) && text(key) === 'true')
    .map(key => key.slice(usagePrefix.length))
    .sort()
  const groups = text('auth-extra-groups')
  return {
    id,
    secret,
    description: text('description'),
    expiresMs,
    usages,
    groups: groups === '' ? [] : groups.split(','),
  }
}
