/** Validation of the status of a claim, which the binding and expansion controllers write. */
import { enumValues } from '../../../definitions.ts'
import { invalidEach, notSupported, required, type FieldError } from '../../../field-error.ts'
import type { PersistentVolumeClaim } from '../../../generated/core/v1.ts'
import { checkQualifiedName } from '../../../names.ts'
import { isNativeResource } from '../../../core/resource-names.ts'
import { validateAmount, validateStoredAmount } from '../../validation/resource-quantities.ts'

export function validateClaimStatus({ spec = {}, status = {} }: PersistentVolumeClaim): FieldError[] {
  const { capacity = {}, allocatedResourceStatuses = {}, allocatedResources = {} } = status
  return [
    ...(spec.accessModes?.length ? [] : [required('Spec.accessModes', '')]),
    ...Object.entries(capacity).flatMap(([name, amount]) => {
      return validateStoredAmount(`status.capacity[${name}]`, amount)
    }),
    ...Object.entries(allocatedResourceStatuses).flatMap(([name, state]) =>
      validateResizeStatus(name, state),
    ),
    ...Object.entries(allocatedResources).flatMap(([name, amount]) => validateAllocated(name, amount)),
  ]
}

const resizeStatuses = enumValues('core.ClaimResourceStatus')

function validateResizeStatus(name: string, state: string): FieldError[] {
  const field = 'status.allocatedResourceStatuses'
  const errors = validateResourceKey(field, name)
  return resizeStatuses.includes(state) ? errors : [...errors, notSupported(field, name, resizeStatuses)]
}

function validateAllocated(name: string, amount: string): FieldError[] {
  const field = 'status.allocatedResources'
  const errors = validateResourceKey(field, name)
  if (errors.length > 0) return errors
  const amountErrors = validateStoredAmount(`${field}[${name}]`, amount)
  return amountErrors.length > 0 ? amountErrors : validateAmount(`${field}[${name}]`, 'storage', amount)
}

/** The only native resource of a claim is `storage`. */
function validateResourceKey(field: string, name: string): FieldError[] {
  const errors = invalidEach(field, name, checkQualifiedName(name))
  if (errors.length > 0 || !isNativeResource(name) || name === 'storage') return errors
  return [notSupported(field, name, ['storage'])]
}
