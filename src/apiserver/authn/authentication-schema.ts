/** Types and schema of the `AuthenticationConfiguration` file. */
import { boolean, list, string, struct, type ConfigurationKind } from '../configuration-file.ts'

export interface AuthenticationFile {
  readonly jwt?: readonly JwtFields[]
  readonly anonymous?: AnonymousFields
}

export interface AnonymousFields {
  readonly enabled?: boolean
  readonly conditions?: readonly { readonly path?: string }[]
}

export interface JwtFields {
  readonly issuer: {
    readonly url?: string
    readonly discoveryURL?: string
    readonly certificateAuthority?: string
    readonly audiences?: readonly string[]
    readonly audienceMatchPolicy?: string
    readonly egressSelectorType?: string
  }
  readonly claimValidationRules?: readonly {
    readonly claim?: string
    readonly requiredValue?: string
    readonly expression?: string
    readonly message?: string
  }[]
  readonly claimMappings: {
    readonly username?: ClaimFields
    readonly groups?: ClaimFields
    readonly uid?: { readonly claim?: string; readonly expression?: string }
    readonly extra?: readonly { readonly key?: string; readonly valueExpression?: string }[]
  }
  readonly userValidationRules?: readonly { readonly expression?: string; readonly message?: string }[]
}

export interface ClaimFields {
  readonly claim?: string
  readonly prefix?: string
  readonly expression?: string
}

const prefixedClaim = struct({ claim: string, prefix: string, expression: string })

const jwt = struct({
  issuer: struct({
    url: string,
    discoveryURL: string,
    certificateAuthority: string,
    audiences: list(string),
    audienceMatchPolicy: string,
    egressSelectorType: string,
  }),
  claimValidationRules: list(
    struct({ claim: string, requiredValue: string, expression: string, message: string }),
  ),
  claimMappings: struct({
    username: prefixedClaim,
    groups: prefixedClaim,
    uid: struct({ claim: string, expression: string }),
    extra: list(struct({ key: string, valueExpression: string })),
  }),
  userValidationRules: list(struct({ expression: string, message: string })),
})

export const authenticationKind: ConfigurationKind<AuthenticationFile> = {
  group: 'apiserver.config.k8s.io',
  versions: ['v1', 'v1beta1', 'v1alpha1'],
  kind: 'AuthenticationConfiguration',
  schema: struct({
    apiVersion: string,
    kind: string,
    jwt: list(jwt),
    anonymous: struct({ enabled: boolean, conditions: list(struct({ path: string })) }),
  }),
}
