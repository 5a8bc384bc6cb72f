/**
 * The flags `--oidc-...`, which describe one issuer, as the configuration that the file would have for it.
 */
import { isTokenAlgorithm } from '#/base/json-web-token.ts'
import type { IssuerConfiguration } from './issuer-tokens.ts'

export interface IssuerFlags {
  readonly issuerUrl: string
  readonly clientId: string
  /** `sub` when absent. */
  readonly usernameClaim?: string
  /** `-` is none; when absent the URL of the issuer and `#`, but for email addresses nothing. */
  readonly usernamePrefix?: string
  readonly groupsClaim?: string
  readonly groupsPrefix?: string
  readonly requiredClaims?: Readonly<Record<string, string>>
  /** RS256 when absent. */
  readonly signingAlgorithms?: readonly string[]
  /** PEM. */
  readonly certificateAuthority?: string
}

/** Throws when a flag does not say what it should. */
export function issuerOfFlags(flags: IssuerFlags): IssuerConfiguration {
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
  if (clientId === '') throw new Error('--oidc-client-id is needed with --oidc-issuer-url')
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
