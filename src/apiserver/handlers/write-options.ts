/** Options of a write: dryRun, fieldManager and fieldValidation. */
import { fieldManagerOf, validateFieldManager } from '#/api/apply.ts'
import { forbiddenField, invalidObject, notSupported, required, type FieldError } from '#/api/field-error.ts'
import type { FieldValidation } from '#/api/decoding/strict-decode.ts'
import type { RequestScope } from './request-scope.ts'

export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
  /** The options for admission. */
  readonly sent: Readonly<Record<string, unknown>>
}

const validations: readonly string[] = ['', 'Ignore', 'Strict', 'Warn']

export function readWriteOptions(
  scope: RequestScope,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
): WriteOptions {
  const { query, headers } = scope.context.request
  const dryRun = query.getAll('dryRun')
  const manager = query.get('fieldManager') ?? ''
  const validation = query.get('fieldValidation') || 'Warn'
  const errors: FieldError[] = [
    ...(kind === 'PatchOptions' ? validatePatch(scope, manager) : []),
    ...validateFieldManager(manager, 'fieldManager'),
    ...validateDryRun(dryRun),
    ...(validations.includes(validation) ? [] : [notSupported('fieldValidation', validation, validations)]),
  ]
  if (errors.length > 0) throw invalidObject({ group: 'meta.k8s.io', kind }, errors)
  const sent = {
    kind,
    apiVersion: 'meta.k8s.io/v1',
    ...(dryRun.length > 0 && { dryRun }),
    ...(manager !== '' && { fieldManager: manager }),
    ...(query.has('fieldValidation') && { fieldValidation: validation }),
  }
  return {
    dryRun: dryRun.length > 0,
    fieldManager: fieldManagerOf(manager, headers['user-agent'] ?? ''),
    fieldValidation: validation as FieldValidation,
    sent,
  }
}

export function validateDryRun(dryRun: readonly string[]): FieldError[] {
  return dryRun.every(value => value === 'All') ? [] : [notSupported('dryRun', dryRun, ['All'])]
}

function validatePatch({ context: { request } }: RequestScope, manager: string): FieldError[] {
  const isApply = request.headers['content-type']?.startsWith('application/apply-patch+yaml') === true
  if (isApply) return manager === '' ? [required('fieldManager', 'is required for apply patch')] : []
  return request.query.has('force')
    ? [forbiddenField('force', 'may not be specified for non-apply patch')]
    : []
}
