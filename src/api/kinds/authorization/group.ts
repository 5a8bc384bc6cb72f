/**
 * Rules of `authorization.k8s.io`: access reviews are never stored; only their spec is validated.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/
 */
import { invalid, type FieldError } from '../../field-error.ts'
import type {
  LocalSubjectAccessReview,
  SelfSubjectAccessReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
} from '../../generated/authorization/v1.ts'
import type { GroupRules, KindRules } from '../../kind-rules.ts'
import type { ObjectMeta } from '../../metadata.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateSelectors } from './selector-validation.ts'

type Spec = Unchecked<SubjectAccessReviewSpec>

const subjectAccessReview: KindRules<SubjectAccessReview> = {
  validate: ({ spec = {}, metadata }: Unchecked<SubjectAccessReview>) => [
    ...validateQuestion(spec),
    ...validateSubject(spec),
    ...validateSelectors(spec),
    ...validateNoMetadata(metadata as ObjectMeta | undefined),
  ],
}

const selfSubjectAccessReview: KindRules<SelfSubjectAccessReview> = {
  validate: ({ spec = {}, metadata }: Unchecked<SelfSubjectAccessReview>) => [
    ...validateQuestion(spec),
    ...validateSelectors(spec),
    ...validateNoMetadata(metadata as ObjectMeta | undefined),
  ],
}

const localSubjectAccessReview: KindRules<LocalSubjectAccessReview> = { validate: validateLocal }

export const authorizationRules: GroupRules = {
  SubjectAccessReview: subjectAccessReview,
  SelfSubjectAccessReview: selfSubjectAccessReview,
  LocalSubjectAccessReview: localSubjectAccessReview,
}

function validateLocal({ spec = {}, metadata }: Unchecked<LocalSubjectAccessReview>): FieldError[] {
  const { namespace = '', ...rest } = (metadata ?? {}) as ObjectMeta
  const { resourceAttributes, nonResourceAttributes } = spec
  const errors = [...validateQuestion(spec), ...validateSubject(spec), ...validateSelectors(spec)]
  if (!isEmpty(rest)) errors.push(invalid('metadata', metadata, 'must be empty except for namespace'))
  if (resourceAttributes && (resourceAttributes.namespace ?? '') !== namespace) {
    const field = 'spec.resourceAttributes.namespace'
    errors.push(invalid(field, resourceAttributes.namespace ?? '', 'must match metadata.namespace'))
  }
  if (!nonResourceAttributes) return errors
  const detail = 'disallowed on this kind of request'
  return [...errors, invalid('spec.nonResourceAttributes', nonResourceAttributes, detail)]
}

/** Exactly one of resource and non-resource attributes must be set. */
function validateQuestion({ resourceAttributes, nonResourceAttributes }: Spec): FieldError[] {
  if (resourceAttributes && nonResourceAttributes) {
    const detail = 'cannot be specified in combination with resourceAttributes'
    return [invalid('spec.nonResourceAttributes', nonResourceAttributes, detail)]
  }
  if (resourceAttributes || nonResourceAttributes) return []
  const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
  return [invalid('spec.resourceAttributes', null, detail)]
}

function validateSubject({ user = '', groups = [] }: Spec): FieldError[] {
  if (user !== '' || groups.length > 0) return []
  return [invalid('spec.user', user, 'at least one of user or group must be specified')]
}

function validateNoMetadata(metadata: ObjectMeta | undefined): FieldError[] {
  return isEmpty(metadata ?? {}) ? [] : [invalid('metadata', metadata, 'must be empty')]
}

/** Managed fields are ignored. */
function isEmpty(metadata: ObjectMeta): boolean {
  return Object.entries(metadata).every(([name, value]) => name === 'managedFields' || value === '')
}
