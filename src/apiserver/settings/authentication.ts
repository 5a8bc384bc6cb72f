/** Authentication settings from flags. The cluster setup provides what they do not set. */
import { messageOf } from '#/base/message-of.ts'
import { createPublicKey } from 'node:crypto'
import { UsageError } from '#/base/flags.ts'
import type { Platform } from '#/platform/platform.ts'
import {
  oidcConfigurationFromFlags,
  readAuthenticationConfiguration,
  type AuthenticationSettings,
  type ServiceAccountSettings,
} from '../authn.ts'
import type { AuthenticationConfiguration } from '../authn/authentication-configuration.ts'
import { readCertificates } from '../authn/certificate-chain.ts'
import type { FrontProxyOptions } from '../authn/front-proxy.ts'
import type { OidcConfiguration } from '../authn/oidc-authenticator.ts'
import { ServiceAccountIssuer } from '../authn/service-account-issuer.ts'
import { BasicAuth, StaticTokens } from '../authn/static-credentials.ts'
import type { ApiServerFlags } from '../flags.ts'
import type { ReloadedFile } from '../reloaded-file.ts'
import { readFlagKubeconfig, readFlagFile } from './flag-files.ts'

/** Partial settings, completed by the cluster setup. */
export interface PartialAuthenticationSettings extends Omit<
  AuthenticationSettings,
  'certificates' | 'frontProxy' | 'serviceAccounts' | 'connectHttp'
> {
  /** PEM of the client CAs. */
  readonly clientAuthorities?: string
  readonly frontProxy: Partial<FrontProxyOptions>
  readonly serviceAccounts: Partial<ServiceAccountSettings>
}

/** Throws UsageError. `ownIssuer` is the service account issuer if no flag sets it. */
export async function readAuthentication(
  flags: ApiServerFlags,
  platform: Platform,
  ownIssuer: string,
): Promise<PartialAuthenticationSettings> {
  const file = await readFlagFile(
    platform,
    { flag: 'authentication-config', path: flags['authentication-config'] },
    text => readAuthenticationConfiguration(text, flags['service-account-issuer'] ?? [ownIssuer]),
  )
  const clientAuthorities = await readAuthorities(flags, platform, 'client-ca-file')
  const tokenFile = await readFlagFile(
    platform,
    { flag: 'token-auth-file', path: flags['token-auth-file'] },
    checkedBy(text => new StaticTokens(text)),
  )
  const passwordFile = await readFlagFile(
    platform,
    { flag: 'basic-auth-file', path: flags['basic-auth-file'] },
    checkedBy(text => new BasicAuth(text)),
  )
  const webhook = await readWebhook(flags, platform)
  return {
    ...(clientAuthorities && { clientAuthorities }),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(passwordFile !== undefined && { passwordFile }),
    ...(flags['enable-bootstrap-token-auth'] !== undefined && {
      bootstrapTokens: flags['enable-bootstrap-token-auth'],
    }),
    ...anonymousOf(flags, file),
    issuers: [...(file?.issuers ?? []), ...(await readIssuer(flags, platform, file))],
    ...(webhook && { webhook }),
    frontProxy: await readFrontProxy(flags, platform),
    serviceAccounts: await readServiceAccounts(flags, platform),
  }
}

/** Undefined without --authentication-config. Only the JWT issuers are reloaded. */
export async function readAuthenticationReload(
  flags: ApiServerFlags,
  platform: Platform,
  ownIssuer: string,
): Promise<ReloadedFile<readonly OidcConfiguration[]> | undefined> {
  const path = flags['authentication-config']
  const content = await readFlagFile(platform, { flag: 'authentication-config', path }, text => text)
  if (!path || content === undefined) return undefined
  const parse = (text: string): AuthenticationConfiguration =>
    readAuthenticationConfiguration(text, flags['service-account-issuer'] ?? [ownIssuer])
  const read = async (text: string): Promise<readonly OidcConfiguration[]> => {
    const configuration = parse(text)
    const { anonymous } = parse(content)
    if (JSON.stringify(configuration.anonymous) !== JSON.stringify(anonymous))
      throw new Error('anonymous: Forbidden: changed from initial configuration file')
    return configuration.issuers
  }
  return { path, content, read }
}

/** Validates the text and returns it unchanged. */
function checkedBy(check: (text: string) => unknown): (text: string) => string {
  return text => {
    check(text)
    return text
  }
}

function readAuthorities(
  flags: ApiServerFlags,
  platform: Platform,
  flag: 'client-ca-file' | 'requestheader-client-ca-file' | 'oidc-ca-file',
): Promise<string | undefined> {
  const check = (text: string): void => {
    if (readCertificates(text).length === 0) throw new Error('contains no PEM certificate')
  }
  return readFlagFile(platform, { flag, path: flags[flag] }, checkedBy(check))
}

function anonymousOf(
  flags: ApiServerFlags,
  file: AuthenticationConfiguration | undefined,
): Pick<PartialAuthenticationSettings, 'anonymous'> {
  const enabled = flags['anonymous-auth']
  if (file?.anonymous === undefined) return enabled === undefined ? {} : { anonymous: { enabled } }
  if (enabled === undefined) return { anonymous: file.anonymous }
  throw new UsageError('--anonymous-auth cannot be used if --authentication-config sets anonymous')
}

async function readIssuer(
  flags: ApiServerFlags,
  platform: Platform,
  file: AuthenticationConfiguration | undefined,
): Promise<readonly OidcConfiguration[]> {
  const given = Object.keys(flags).find(name => name.startsWith('oidc-'))
  if (given === undefined) return []
  if (file) throw new UsageError(`--${given} cannot be used together with --authentication-config`)
  const { 'oidc-issuer-url': issuerUrl, 'oidc-client-id': clientId } = flags
  if (!issuerUrl || !clientId) {
    throw new UsageError('--oidc-issuer-url and --oidc-client-id must be specified together')
  }
  const certificateAuthority = await readAuthorities(flags, platform, 'oidc-ca-file')
  const optional = {
    usernameClaim: flags['oidc-username-claim'],
    usernamePrefix: flags['oidc-username-prefix'],
    groupsClaim: flags['oidc-groups-claim'],
    groupsPrefix: flags['oidc-groups-prefix'],
    signingAlgorithms: flags['oidc-signing-algs'],
    certificateAuthority,
  }
  const requiredClaims = Object.fromEntries((flags['oidc-required-claim'] ?? []).map(readClaim))
  try {
    return [
      oidcConfigurationFromFlags({ issuerUrl, clientId, requiredClaims, ...withoutUndefined(optional) }),
    ]
  } catch (error) {
    throw new UsageError(messageOf(error), { cause: error })
  }
}

function readClaim(text: string): readonly [string, string] {
  const [, key, value] = /^([^=]+)=([^]*)$/.exec(text) ?? []
  if (key === undefined || value === undefined) {
    throw new UsageError(`--oidc-required-claim ${text}: must be KEY=VALUE`)
  }
  return [key.trim(), value.trim()]
}

async function readWebhook(
  flags: ApiServerFlags,
  platform: Platform,
): Promise<AuthenticationSettings['webhook']> {
  const flag = 'authentication-token-webhook-config-file'
  const remote = await readFlagKubeconfig(platform, flag, flags[flag])
  const cacheMs = flags['authentication-token-webhook-cache-ttl']
  return (
    remote && {
      ...remote,
      version: flags['authentication-token-webhook-version'] ?? 'v1beta1',
      ...(cacheMs !== undefined && { cacheMs }),
    }
  )
}

async function readFrontProxy(
  flags: ApiServerFlags,
  platform: Platform,
): Promise<Partial<FrontProxyOptions>> {
  const authorities = await readAuthorities(flags, platform, 'requestheader-client-ca-file')
  return {
    // Allowed names belong to a CA: with another CA, the defaults do not apply.
    ...(authorities && { authorities, allowedNames: [] }),
    ...withoutUndefined({
      allowedNames: flags['requestheader-allowed-names'],
      usernameHeaders: flags['requestheader-username-headers'],
      uidHeaders: flags['requestheader-uid-headers'],
      groupHeaders: flags['requestheader-group-headers'],
      extraHeaderPrefixes: flags['requestheader-extra-headers-prefix'],
    }),
  }
}

const maxExpirationSecondsMin = 3_600

async function readServiceAccounts(
  flags: ApiServerFlags,
  platform: Platform,
): Promise<Partial<ServiceAccountSettings>> {
  const issuers = flags['service-account-issuer'] ?? []
  if (issuers.includes('') || new Set(issuers).size < issuers.length) {
    throw new UsageError('--service-account-issuer must not contain empty or duplicate values')
  }
  const [url, ...acceptedIssuers] = issuers
  const maxMs = flags['service-account-max-token-expiration']
  if (maxMs !== undefined && (maxMs < maxExpirationSecondsMin * 1_000 || maxMs > 2 ** 32 * 1_000)) {
    throw new UsageError('--service-account-max-token-expiration must be between 1h and 2^32 seconds')
  }
  const signingKey = await readFlagFile(
    platform,
    { flag: 'service-account-signing-key-file', path: flags['service-account-signing-key-file'] },
    checkedBy(text => new ServiceAccountIssuer({ url: 'x', signingKey: text })),
  )
  const verificationKeys: string[] = []
  for (const path of flags['service-account-key-file'] ?? []) {
    verificationKeys.push(...(await readKeys(platform, path)))
  }
  const audiences = flags['api-audiences'] ?? issuers
  return {
    ...(url && { url }),
    ...(acceptedIssuers.length > 0 && { acceptedIssuers }),
    ...(signingKey && { signingKey }),
    ...(verificationKeys.length > 0 && { verificationKeys }),
    ...(audiences.length > 0 && { audiences }),
    ...withoutUndefined({ extendsExpiration: flags['service-account-extend-token-expiration'] }),
    ...(maxMs !== undefined && { expirationSecondsMax: Math.floor(maxMs / 1_000) }),
  }
}

/** A file may contain several keys. */
async function readKeys(platform: Platform, path: string): Promise<readonly string[]> {
  const flag = 'service-account-key-file'
  const parse = (text: string): readonly string[] => {
    const blocks = text.match(/-----BEGIN ([A-Z ]+)-----[^-]+-----END \1-----/g) ?? []
    if (blocks.length === 0) throw new Error('contains no PEM key')
    for (const block of blocks) createPublicKey(block)
    return blocks
  }
  return (await readFlagFile(platform, { flag, path }, parse)) ?? []
}

type Given<T> = { readonly [Name in keyof T]?: Exclude<T[Name], undefined> }

function withoutUndefined<T extends object>(values: T): Given<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Given<T>
}
