/** Options of a write: dryRun, fieldManager and fieldValidation. */
import { fieldManagerOf, validateFieldManager } from '#/api/apply.ts'
import { invalidObject, notSupported, type FieldError } from '#/api/field-error.ts'
import type { FieldValidation } from '#/api/decoding/strict-decode.ts'
import type { RequestScope } from './request-scope.ts'

export interface WriteOptions {
  readonly dryRun: boolean
  readonly fieldManager: string
  readonly fieldValidation: FieldValidation
  /** The options for admission. */
  readonly sent: Readonly<Record<string, unknown>>
}

const validations: readonly string[] = ['Ignore', 'Warn', 'Strict']

export function readWriteOptions(
  scope: RequestScope,
  kind: 'CreateOptions' | 'UpdateOptions' | 'PatchOptions',
): WriteOptions {
  const { query, headers } = scope.context.request
  const dryRun = query.getAll('dryRun').filter(value => value !== '')
  const manager = query.get('fieldManager') ?? ''
  const validation = query.get('fieldValidation') || 'Warn'
  const errors: FieldError[] = [
    ...dryRun.filter(value => value !== 'All').map(value => notSupported('dryRun', value, ['All'])),
    ...validateFieldManager(manager, 'fieldManager'),
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
