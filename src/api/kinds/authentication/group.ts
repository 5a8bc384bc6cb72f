/**
 * Rules of `authentication.k8s.io`. TokenReview and SelfSubjectReview have none: their handlers return 400 Bad
 * Request for missing fields, not 422 Invalid.
 */
import { invalid, type FieldError } from '../../field-error.ts'
import type { TokenRequest } from '../../generated/authentication/v1.ts'
import type { GroupRules, KindRules } from '../../kind-rules.ts'
import { withMissing } from '../../copy-on-write.ts'

const tokenRequest: KindRules<TokenRequest> = {
  withDefaults: withExpiration,
  validate: validateTokenRequest,
}

export const authenticationRules: GroupRules = { TokenRequest: tokenRequest }

const expirationSecondsDefault = 3_600
const expirationSecondsMin = 600
const expirationSecondsMax = 2 ** 32

function withExpiration(request: TokenRequest): TokenRequest {
  const spec = withMissing(request.spec ?? {}, { expirationSeconds: expirationSecondsDefault })
  return spec === request.spec ? request : { ...request, spec }
}

function validateTokenRequest({ spec = {} }: TokenRequest): FieldError[] {
  const field = 'spec.expirationSeconds'
  const { expirationSeconds: seconds = 0 } = spec
  if (seconds < expirationSecondsMin) {
    return [invalid(field, seconds, 'may not specify a duration less than 10 minutes')]
  }
  if (seconds <= expirationSecondsMax) return []
  return [invalid(field, seconds, 'may not specify a duration larger than 2^32 seconds')]
}
