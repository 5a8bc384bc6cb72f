import type { JsonValue } from '#/api/text/json-value.ts'

export interface ImageReviewStatus {
  readonly allowed: boolean
  readonly reason: string
  readonly auditAnnotations: ReadonlyMap<string, string>
}

/** Parses an ImageReview response. Throws if it is malformed. */
export function readImageReviewStatus(review: JsonValue): ImageReviewStatus {
  const status = memberOf(review, 'status')
  const allowed = memberOf(status, 'allowed') ?? false
  const reason = memberOf(status, 'reason') ?? ''
  const annotations = memberOf(status, 'auditAnnotations') ?? {}
  if (
    typeof status !== 'object' ||
    typeof allowed !== 'boolean' ||
    typeof reason !== 'string' ||
    typeof annotations !== 'object'
  ) {
    throw new Error('image policy webhook backend returned an invalid ImageReview')
  }
  const texts = Object.entries(annotations ?? {}).map(
    ([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)] as const,
  )
  return { allowed, reason, auditAnnotations: new Map(texts.slice(0, annotationsMax)) }
}

/** Maximum number of audit annotations taken from one response. */
const annotationsMax = 100

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, name) ? value[name] : undefined
}
