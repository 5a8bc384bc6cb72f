/** Converts the `--oidc-...` flags, which describe one issuer, to an issuer configuration. */
import { isTokenAlgorithm } from '#/base/json-web-token.ts'
import type { OidcConfiguration } from './oidc-authenticator.ts'

export interface OidcFlags {
  readonly issuerUrl: string
  readonly clientId: string
  /** Defaults to `sub`. */
  readonly usernameClaim?: string
  /** `-` means no prefix. The default is the issuer URL followed by `#`, or no prefix for the email claim. */
  readonly usernamePrefix?: string
  readonly groupsClaim?: string
  readonly groupsPrefix?: string
  readonly requiredClaims?: Readonly<Record<string, string>>
  /** Defaults to RS256. */
  readonly signingAlgorithms?: readonly string[]
  /** PEM. */
  readonly certificateAuthority?: string
}

/** Throws if a flag is invalid. */
export function oidcConfigurationFromFlags(flags: OidcFlags): OidcConfiguration {
  const {
    issuerUrl: url,
    clientId,
    usernameClaim = 'sub',
    usernamePrefix = '',
    groupsClaim,
    groupsPrefix = '',
  } = flags
  if (!URL.canParse(url) || new URL(url).protocol !== 'https:') {
    throw new Error('--oidc-issuer-url must be a URL that begins with https://')
  }
  if (clientId === '') throw new Error('--oidc-issuer-url requires --oidc-client-id')
  const algorithms = (flags.signingAlgorithms ?? ['RS256']).map(name => {
    if (!isTokenAlgorithm(name)) throw new Error(`--oidc-signing-algs: ${name} is not supported`)
    return name
  })
  const usualPrefix = usernameClaim === 'email' ? '' : `${url}#`
  const prefix = usernamePrefix === '-' ? '' : usernamePrefix || usualPrefix
  return {
    url,
    audiences: [clientId],
    algorithms,
    ...(flags.certificateAuthority && { certificateAuthority: flags.certificateAuthority }),
    mapping: {
      username: { claim: usernameClaim, prefix },
      ...(groupsClaim && { groups: { claim: groupsClaim, prefix: groupsPrefix } }),
      required: new Map(Object.entries(flags.requiredClaims ?? {})),
    },
  }
}
