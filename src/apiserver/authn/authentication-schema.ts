/** The fields of `AuthenticationConfiguration`, as types and as what a file is decoded with. */
import type { Field, ListSchema, Schema, StructSchema } from '#/api/schema.ts'

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

const text: Schema = { type: 'string' }

const prefixedClaim = struct({ claim: text, prefix: text, expression: text })

const jwt = struct({
  issuer: struct({
    url: text,
    discoveryURL: text,
    certificateAuthority: text,
    audiences: list(text),
    audienceMatchPolicy: text,
    egressSelectorType: text,
  }),
  claimValidationRules: list(struct({ claim: text, requiredValue: text, expression: text, message: text })),
  claimMappings: struct({
    username: prefixedClaim,
    groups: prefixedClaim,
    uid: struct({ claim: text, expression: text }),
    extra: list(struct({ key: text, valueExpression: text })),
  }),
  userValidationRules: list(struct({ expression: text, message: text })),
})

export const authenticationSchema: StructSchema = struct({
  apiVersion: text,
  kind: text,
  jwt: list(jwt),
  anonymous: struct({ enabled: { type: 'boolean' }, conditions: list(struct({ path: text })) }),
})

function struct(fields: Readonly<Record<string, Schema>>): StructSchema {
  const entries = Object.entries(fields).map(([name, schema]): [string, Field] => [
    name,
    { schema, required: false },
  ])
  return { type: 'struct', name: '', fields: new Map(entries), atomic: false, preserveUnknownFields: false }
}

function list(items: Schema): ListSchema {
  return { type: 'list', items, listType: 'atomic', keys: [] }
}
