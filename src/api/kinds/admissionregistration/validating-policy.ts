/** Rules of ValidatingAdmissionPolicy. */
import { duplicate, invalid, notSupported, required, type FieldError } from '../../field-error.ts'
import type {
  AuditAnnotation,
  ExpressionWarning,
  ValidatingAdmissionPolicy,
  Validation,
} from '../../generated/admissionregistration/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { checkQualifiedName } from '../../names.ts'
import { validateConditions } from '../validation/conditions.ts'
import { validatePresent, validateRequiredName } from '../validation/field-checks.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validatePolicy, withPolicyDefaults } from './policy.ts'
import { warningsForReservedName } from './reserved-name.ts'

export const validatingAdmissionPolicyRules: KindRules<ValidatingAdmissionPolicy> = {
  validatesMetadataOnce: true,
  allowsUnqualifiedFinalizers: true,
  tracksGeneration: true,
  statusKeepsMetadata: true,
  allowUnconditionalUpdate: false,
  withDefaults: withSpecDefaults,
  validate: validateValidatingPolicy,
  validateUpdate: validateValidatingPolicy,
  validateStatusUpdate: validateStatus,
  warnings: warningsForReservedName,
}

const reasons = ['Forbidden', 'Invalid', 'RequestEntityTooLarge']
const auditAnnotationsMax = 20
const valueExpressionBytesMax = 5 * 1_024

function withSpecDefaults(policy: ValidatingAdmissionPolicy): ValidatingAdmissionPolicy {
  const spec = withPolicyDefaults(policy.spec ?? {})
  return spec === policy.spec ? policy : { ...policy, spec }
}

function validateValidatingPolicy({
  metadata,
  spec = {},
}: Unchecked<ValidatingAdmissionPolicy>): FieldError[] {
  const { validations = [], auditAnnotations = [] } = spec
  const errors = validatePolicy(spec)
  if (validations.length === 0 && auditAnnotations.length === 0) {
    const detail = 'validations or auditAnnotations must contain at least one item'
    return [...errors, required('spec.validations', detail), required('spec.auditAnnotations', detail)]
  }
  return [
    ...errors,
    ...validations.flatMap((validation, index) => {
      return validateValidation(`spec.validations[${index}]`, validation)
    }),
    ...validateAuditAnnotations(metadata?.name ?? '', auditAnnotations),
  ]
}

function validateValidation(field: string, validation: Unchecked<Validation>): FieldError[] {
  const { expression = '', message = '', messageExpression = '', reason } = validation
  const errors: FieldError[] = []
  if (expression.trim() === '') errors.push(required(`${field}.expression`, 'expression is not specified'))
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(invalid(`${field}.messageExpression`, messageExpression, 'must be non-empty if specified'))
  }
  if (message !== '' && message.trim() === '') {
    errors.push(invalid(`${field}.message`, message, 'must be non-empty if specified'))
  } else if (/[\r\n]/.test(message.trim())) {
    errors.push(invalid(`${field}.message`, message, 'must not contain line breaks'))
  }
  if (reason === undefined || reasons.includes(reason)) return errors
  return [...errors, notSupported(`${field}.reason`, reason, reasons)]
}

/** The policy name and the annotation key together form the key in the audit event. */
function validateAuditAnnotations(
  name: string,
  annotations: readonly Unchecked<AuditAnnotation>[],
): FieldError[] {
  const field = 'spec.auditAnnotations'
  const errors: FieldError[] = []
  if (annotations.length > auditAnnotationsMax) {
    const detail = `must not have more than ${auditAnnotationsMax} auditAnnotations`
    errors.push(invalid(field, annotations, detail))
  }
  const keys = new Set<string>()
  for (const [index, { key = '', valueExpression = '' }] of annotations.entries()) {
    const place = `${field}[${index}]`
    errors.push(
      ...(name === ''
        ? [invalid(`${place}.key`, key, 'requires metadata.name be non-empty')]
        : validateRequiredName(`${place}.key`, `${name}/${key}`, checkQualifiedName)),
    )
    errors.push(...validateValueExpression(`${place}.valueExpression`, valueExpression.trim()))
    if (keys.has(key)) errors.push(duplicate(`${place}.key`, key))
    keys.add(key)
  }
  return errors
}

function validateValueExpression(field: string, expression: string): FieldError[] {
  if (expression === '') return [required(field, 'valueExpression is not specified')]
  if (Buffer.byteLength(expression) <= valueExpressionBytesMax) return []
  return [required(field, `must not exceed ${valueExpressionBytesMax} bytes in length`)]
}

function validateStatus({ status = {} }: Unchecked<ValidatingAdmissionPolicy>): FieldError[] {
  const warnings = status.typeChecking?.expressionWarnings ?? []
  return [
    ...warnings.flatMap((warning, index) => validateWarning(index, warning)),
    ...validateConditions('status.conditions', status.conditions),
  ]
}

function validateWarning(index: number, { warning, fieldRef }: Unchecked<ExpressionWarning>): FieldError[] {
  const field = `status.typeChecking.expressionWarnings[${index}]`
  return [
    ...validatePresent(`${field}.warning`, warning),
    ...validatePresent(`${field}.fieldRef`, fieldRef?.trim()),
  ]
}
