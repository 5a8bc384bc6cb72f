/** Validation of `x-kubernetes-validations` as far as possible without compiling CEL. */
import { enumValues } from '../definitions.ts'
import { invalid, notSupported, required, type FieldError } from '../field-error.ts'
import type { JSONSchemaProps, ValidationRule } from '../generated/apiextensions/v1.ts'
import { findField } from './field-path.ts'

const reasons = enumValues('apiextensions.FieldValueErrorReason')
const lineBreak = /[\r\n]/

export function validateXValidations(field: string, schema: JSONSchemaProps): FieldError[] {
  const rules: readonly Partial<ValidationRule>[] = schema['x-kubernetes-validations'] ?? []
  return rules.flatMap((rule, index) => {
    const place = `${field}.x-kubernetes-validations[${index}]`
    return [
      ...validateMessage(place, rule),
      ...validateDetails(place, rule),
      ...validatePath(place, rule, schema),
    ]
  })
}

/** A multi-line rule requires a message. */
function validateMessage(field: string, { rule = '', message = '' }: Partial<ValidationRule>): FieldError[] {
  if (rule.trim() === '') return [required(`${field}.rule`, 'rule is not specified')]
  if (message !== '' && message.trim() === '') {
    return [invalid(`${field}.message`, message, 'must be non-empty if specified')]
  }
  if (lineBreak.test(message.trim())) {
    return [invalid(`${field}.message`, message, 'must not contain line breaks')]
  }
  if (message !== '' || !lineBreak.test(rule.trim())) return []
  return [required(`${field}.message`, 'message must be specified if rule contains line breaks')]
}

function validateDetails(
  field: string,
  { messageExpression = '', reason }: Partial<ValidationRule>,
): FieldError[] {
  const errors: FieldError[] = []
  if (messageExpression !== '' && messageExpression.trim() === '') {
    errors.push(required(`${field}.messageExpression`, 'messageExpression must be non-empty if specified'))
  }
  if (reason === undefined || reasons.includes(reason)) return errors
  return [...errors, notSupported(`${field}.reason`, reason, reasons)]
}

function validatePath(
  field: string,
  { fieldPath = '' }: Partial<ValidationRule>,
  schema: JSONSchemaProps,
): FieldError[] {
  if (fieldPath === '') return []
  const place = `${field}.fieldPath`
  const errors: FieldError[] = []
  if (fieldPath.trim() === '') errors.push(invalid(place, fieldPath, 'must be non-empty if specified'))
  if (lineBreak.test(fieldPath)) errors.push(invalid(place, fieldPath, 'must not contain line breaks'))
  const isValid = typeof findField(fieldPath, schema) !== 'string'
  return isValid ? errors : [...errors, invalid(place, fieldPath, 'must be a valid path')]
}
