/**
 * Rules of ResourceQuota. Scopes, which restrict a quota to certain pods or claims, are immutable.
 * https://kubernetes.io/docs/concepts/policy/resource-quotas/
 */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type {
  ResourceQuota,
  ResourceQuotaSpec,
  ScopedResourceSelectorRequirement,
} from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { compareQuantities, formatQuantity } from '../../text/quantity.ts'
import { quantityOf, type ResourceList } from '../../core/resource-amounts.ts'
import { roundUp } from '../validation/resource-defaults.ts'
import { withField } from '../../copy-on-write.ts'
import { isStandardQuotaResource, validateQuotaAmounts } from '../validation/resource-quantities.ts'

export const resourceQuotaRules: KindRules<ResourceQuota> = {
  withDefaults: withRoundedAmounts,
  validate: quota => [...validateSpec(quota.spec ?? {}), ...validateStatus(quota)],
  validateUpdate: (quota, old) => [
    ...validateSpec(quota.spec ?? {}),
    ...validateSameScopes(quota.spec?.scopes ?? [], old.spec?.scopes ?? []),
  ],
  validateStatusUpdate: validateStatus,
  warnings: (quota, old) => (old ? [] : warningsForLimits(quota.spec?.hard ?? {})),
  returnDeletedObject: true,
}

function withRoundedAmounts(quota: ResourceQuota): ResourceQuota {
  const rounded = withField(quota, 'spec', spec => withField(spec, 'hard', roundUp))
  return withField(rounded, 'status', status =>
    withField(withField(status, 'hard', roundUp), 'used', roundUp),
  )
}

function validateSpec(spec: ResourceQuotaSpec): FieldError[] {
  return [
    ...validateQuotaAmounts('spec.hard', spec.hard),
    ...validateScopes(spec),
    ...validateScopeSelector(spec),
  ]
}

function validateStatus({ status }: ResourceQuota): FieldError[] {
  return [
    ...validateQuotaAmounts('status.hard', status?.hard),
    ...validateQuotaAmounts('status.used', status?.used),
  ]
}

const podResources = [
  'pods',
  'cpu',
  'memory',
  'limits.cpu',
  'limits.memory',
  'requests.cpu',
  'requests.memory',
]

/** The standard quota resources that each scope supports. */
const resourcesOfScopes: ReadonlyMap<string, readonly string[]> = new Map([
  ['Terminating', podResources],
  ['NotTerminating', podResources],
  ['NotBestEffort', podResources],
  ['PriorityClass', podResources],
  ['CrossNamespacePodAffinity', podResources],
  ['BestEffort', ['pods']],
  ['VolumeAttributesClass', ['persistentvolumeclaims', 'requests.storage']],
])

function validateScopes(spec: ResourceQuotaSpec): FieldError[] {
  const { scopes = [] } = spec
  const field = 'spec.scopes'
  const errors: FieldError[] = []
  if (scopes.some(scope => !resourcesOfScopes.has(scope))) {
    errors.push(invalid(field, scopes, 'unsupported scope'))
  }
  if (hasRefusedResources(spec, scopes)) {
    errors.push(invalid(field, scopes, 'unsupported scope applied to resource'))
  }
  return [...errors, ...validateConflicts(field, scopes, scopes)]
}

function validateScopeSelector(spec: ResourceQuotaSpec): FieldError[] {
  if (spec.scopeSelector === undefined) return []
  const { matchExpressions = [] } = spec.scopeSelector
  const field = 'spec.scopeSelector.matchExpressions'
  const scopes = matchExpressions.map(requirement => requirement.scopeName ?? '')
  const errors = matchExpressions.flatMap((requirement, index) => {
    const scope = scopes[index] ?? ''
    return [
      ...(resourcesOfScopes.has(scope) ? [] : [invalid(`${field}.scopeName`, scope, 'unsupported scope')]),
      ...validateOperator(field, requirement),
    ]
  })
  if (hasRefusedResources(spec, scopes)) {
    errors.push(invalid(field, spec.scopeSelector, 'unsupported scope applied to resource'))
  }
  return [...errors, ...validateConflicts(field, scopes, spec.scopes ?? null)]
}

/** True if a resource is not supported by one of the scopes. */
function hasRefusedResources({ hard = {} }: ResourceQuotaSpec, scopes: readonly string[]): boolean {
  const names = Object.keys(hard).filter(isStandardQuotaResource)
  return [...new Set(scopes)].some(scope => {
    const allowed = resourcesOfScopes.get(scope)
    return allowed !== undefined && names.some(name => !allowed.includes(name))
  })
}

const existingOnly =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, " +
  'ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ' +
  'ResourceQuotaScopeCrossNamespacePodAffinity'

function validateOperator(field: string, requirement: ScopedResourceSelectorRequirement): FieldError[] {
  const { values = [] } = requirement
  const scopeName = requirement.scopeName ?? ''
  const operator = requirement.operator ?? ''
  const errors: FieldError[] = []
  const hasValues = scopeName === 'PriorityClass' || scopeName === 'VolumeAttributesClass'
  if (resourcesOfScopes.has(scopeName) && !hasValues && operator !== 'Exists') {
    errors.push(invalid(`${field}.operator`, operator, existingOnly))
  }
  if (operator === 'In' || operator === 'NotIn') {
    const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
    if (values.length === 0) errors.push(required(`${field}.values`, detail))
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
    if (values.length > 0) errors.push(invalid(`${field}.values`, values, detail))
  } else {
    errors.push(invalid(`${field}.operator`, operator, 'not a valid selector operator'))
  }
  return errors
}

const opposites = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
]

/** Mutually exclusive scopes must not be combined. */
function validateConflicts(field: string, scopes: readonly string[], shown: unknown): FieldError[] {
  return opposites
    .filter(pair => pair.every(scope => scopes.includes(scope)))
    .map(() => invalid(field, shown, 'conflicting scopes'))
}

function validateSameScopes(scopes: readonly string[], old: readonly string[]): FieldError[] {
  const isSame = new Set(scopes).symmetricDifference(new Set(old)).size === 0
  return isSame ? [] : [invalid('spec.scopes', scopes, 'field is immutable')]
}

/** Warns if the quota for requests exceeds the quota for limits, since it can never be used up. */
function warningsForLimits(hard: ResourceList): string[] {
  return ['cpu', 'memory', 'storage', 'ephemeral-storage'].flatMap(name => {
    const isPlain = name === 'cpu' || name === 'memory'
    const requested = hard[`requests.${name}`] === undefined && isPlain ? name : `requests.${name}`
    const request = hard[requested]
    const limit = hard[`limits.${name}`]
    if (request === undefined || limit === undefined) return []
    const [asked, allowed] = [quantityOf(request), quantityOf(limit)]
    if (compareQuantities(asked, allowed) <= 0) return []
    const texts = `${requested} (${formatQuantity(asked)}) should be less than limits.${name}`
    return [`ResourceQuota ${texts} (${formatQuantity(allowed)})`]
  })
}
