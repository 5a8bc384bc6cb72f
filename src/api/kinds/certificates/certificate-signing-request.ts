/**
 * Rules of CertificateSigningRequest. The requester fields (username, uid, groups, extra) are cleared here;
 * the API server then sets them from the authenticated user.
 * https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/
 */
import { enumValues } from '../../definitions.ts'
import { duplicate, forbiddenField, invalid, notSupported, type FieldError } from '../../field-error.ts'
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../generated/certificates/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { equalJson } from '../../text/json-value.ts'
import { pathSegmentNames } from '../../names.ts'
import { quote } from '../../text/quote.ts'
import { conditionStatuses } from '../validation/conditions.ts'
import { validateChoice, validatePresent } from '../validation/field-checks.ts'
import { mapCopyOnWrite, withDefaults } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { readPemBlocks } from './pem.ts'
import { validateSignerName } from './signer-name.ts'

type Request = Unchecked<CertificateSigningRequest>
type Condition = Unchecked<CertificateSigningRequestCondition>

export const certificateSigningRequestRules: KindRules<CertificateSigningRequest> = {
  names: pathSegmentNames,
  prepareForCreate: withoutRequester,
  prepareForUpdate: (request, old) => ({ ...request, spec: old.spec }),
  prepareForStatusUpdate: (request, old, now) => withTimes(withDecisionOf(request, old), old, now),
  validate: validateRequest,
  validateUpdate: (request, old) => [...validateChange(request, old), ...validateNoDecision(request, old)],
  validateStatusUpdate: (request, old) => [
    ...validateChange(request, old),
    ...validateNoDecision(request, old),
    ...validateIssued(request, old),
  ],
  /** Requests can be approved or denied only through the approval subresource. */
  subresources: { approval: { merge: withApprovalOf, validate: validateChange } },
  resetFields: {
    '': [['spec'], ['status']],
    'status': [['spec'], ['status', 'conditions']],
    'approval': [['spec'], ['status', 'certificate']],
  },
  selectableFields: {
    'spec.signerName': request => request.spec?.signerName ?? '',
  },
}

const expirationSecondsMin = 600

const usages = enumValues('certificates.KeyUsage')

function withoutRequester(request: CertificateSigningRequest): CertificateSigningRequest {
  const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...spec } = request.spec ?? {}
  return { ...request, spec }
}

function validateRequest({ spec = {}, status = {} }: Request): FieldError[] {
  const { request = '', expirationSeconds, signerName = '' } = spec
  const errors: FieldError[] = []
  if (readPemBlocks(request)[0]?.type !== 'CERTIFICATE REQUEST') {
    errors.push(invalid('spec.request', spec.request ?? null, 'PEM block type must be CERTIFICATE REQUEST'))
  }
  errors.push(...validateUsages(spec.usages ?? []))
  if (signerName === 'kubernetes.io/legacy-unknown') {
    const detail = 'the legacy signerName is not allowed via this API version'
    errors.push(invalid('spec.signerName', signerName, detail))
  } else {
    errors.push(...validateSignerName('spec.signerName', signerName))
  }
  if (expirationSeconds !== undefined && expirationSeconds < expirationSecondsMin) {
    const detail = `may not specify a duration less than ${expirationSecondsMin} seconds (10 minutes)`
    errors.push(invalid('spec.expirationSeconds', expirationSeconds, detail))
  }
  return [
    ...errors,
    ...validateConditions(status.conditions ?? []),
    ...validateCertificate(status.certificate ?? ''),
  ]
}

function validateUsages(given: readonly string[]): FieldError[] {
  const errors = validatePresent('spec.usages', given)
  const seen = new Set<string>()
  for (const [index, usage] of given.entries()) {
    if (!usages.includes(usage)) errors.push(notSupported(`spec.usages[${index}]`, usage, usages))
    if (seen.has(usage)) errors.push(duplicate(`spec.usages[${index}]`, usage))
    seen.add(usage)
  }
  return errors
}

/** Conditions that can only be True: a decision is irrevocable. */
const lasting = ['Approved', 'Denied', 'Failed']

function validateConditions(conditions: readonly Condition[]): FieldError[] {
  const types = new Set<string>()
  const errors: FieldError[] = []
  for (const [index, { type = '', status }] of conditions.entries()) {
    const field = `status.conditions[${index}]`
    errors.push(...validatePresent(`${field}.type`, type))
    const statuses = lasting.includes(type) ? ['True'] : conditionStatuses
    errors.push(...validateChoice(`${field}.status`, status, statuses))
    const opposite = type === 'Approved' ? 'Denied' : 'Approved'
    if ((type === 'Approved' || type === 'Denied') && types.has(opposite)) {
      errors.push(invalid('status.conditions', type, 'Approved and Denied conditions are mutually exclusive'))
    }
    if (types.has(type)) errors.push(duplicate(`${field}.type`, type))
    types.add(type)
  }
  return errors
}

function validateCertificate(certificate: string): FieldError[] {
  if (certificate === '') return []
  const refuse = (detail: string) => [invalid('status.certificate', '<certificate data>', detail)]
  const blocks = readPemBlocks(certificate)
  const other = blocks.find(({ type }) => type !== 'CERTIFICATE')
  if (other) return refuse(`only CERTIFICATE PEM blocks are allowed, found ${quote(other.type)}`)
  if (blocks.some(({ hasHeaders }) => hasHeaders)) return refuse('no PEM block headers are permitted')
  return blocks.length === 0 ? refuse('must contain at least one CERTIFICATE PEM block') : []
}

function validateChange(request: Request, old: Request): FieldError[] {
  const removed = lasting.filter(type => {
    return conditionsOf(request, type).length < conditionsOf(old, type).length
  })
  return [
    ...validateRequest(request),
    ...removed.map(type => {
      return forbiddenField('status.conditions', `updates may not remove a condition of type ${quote(type)}`)
    }),
  ]
}

function validateNoDecision(request: Request, old: Request): FieldError[] {
  return ['Approved', 'Denied'].flatMap(type => {
    const [now, then] = [conditionsOf(request, type), conditionsOf(old, type)]
    const verb = now.length > then.length ? 'add' : 'modify'
    if (now.length < then.length || equalJson(now, then)) return []
    return [forbiddenField('status.conditions', `updates may not ${verb} a condition of type ${quote(type)}`)]
  })
}

/** The certificate is immutable once issued. */
function validateIssued({ status }: Request, { status: old }: Request): FieldError[] {
  if (!old?.certificate || status?.certificate === old.certificate) return []
  return [forbiddenField('status.certificate', 'updates may not modify existing certificate content')]
}

/**
 * Keeps the stored Approved and Denied conditions in a status update, so that irrelevant differences are
 * tolerated.
 */
function withDecisionOf(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
): CertificateSigningRequest {
  const { conditions } = request.status ?? {}
  if (!conditions) return request
  const decisions = ['Approved', 'Denied'].flatMap(type => {
    const [now, then] = [conditionsOf(request, type), conditionsOf(old, type)]
    return now.length === then.length ? now.map((condition, index) => [condition, then[index]] as const) : []
  })
  const stored = new Map<Condition, Condition | undefined>(decisions)
  const kept = conditions.map(each => (stored.get(each) ?? each) as CertificateSigningRequestCondition)
  return { ...request, status: { ...request.status, conditions: kept } }
}

/** Sets missing `lastUpdateTime` and `lastTransitionTime` of new and changed conditions. */
function withTimes(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  now: string,
): CertificateSigningRequest {
  const { conditions } = request.status ?? {}
  if (!conditions) return request
  const since = new Map(
    (old.status?.conditions ?? []).map(({ type, status, lastTransitionTime }) => {
      return [JSON.stringify([type, status]), lastTransitionTime] as const
    }),
  )
  const stored = new Set(old.status?.conditions)
  const timed = mapCopyOnWrite(conditions, condition => {
    if (stored.has(condition)) return condition
    const lastTransitionTime = since.get(JSON.stringify([condition.type, condition.status])) ?? now
    return withDefaults(condition, { lastUpdateTime: now, lastTransitionTime })
  })
  return { ...request, status: { ...request.status, conditions: timed } }
}

/** The approval subresource updates only conditions and metadata. */
function withApprovalOf(
  old: CertificateSigningRequest,
  sent: CertificateSigningRequest,
  now: string,
): CertificateSigningRequest {
  const { metadata } = sent
  const { conditions: _, ...status } = old.status ?? {}
  const { conditions } = sent.status ?? {}
  return withTimes({ ...old, metadata, status: { ...status, ...(conditions && { conditions }) } }, old, now)
}

function conditionsOf({ status }: Request, type: string): readonly Condition[] {
  return (status?.conditions ?? []).filter(condition => condition.type === type)
}
