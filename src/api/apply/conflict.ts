/** Apply conflicts and the error that reports them. */
import { apiError, type ApiError } from '../errors.ts'
import { quote } from '../text/quote.ts'
import { paths, type FieldSet } from './field-set.ts'
import { identify, type ManagerIdentity } from './managed-fields.ts'
import { compareText, printPath, type Path } from './path-element.ts'

/** A field that the configuration would change and another manager owns. */
export interface Conflict extends ManagerIdentity {
  /** `.spec.containers[name="web"].image`. */
  readonly field: string
}

/** Fields that one manager owns and that an applied configuration changes. */
export interface ConflictingFields {
  readonly owner: ManagerIdentity
  readonly fields: FieldSet
}

/** Conflicts sorted by owner, then by path; paths accepted by `isAllowed` are skipped. */
export function listConflicts(
  conflicting: readonly ConflictingFields[],
  isAllowed: (path: Path) => boolean = () => false,
): Conflict[] {
  const byOwner = [...conflicting].sort((a, b) => compareText(identify(a.owner), identify(b.owner)))
  return byOwner.flatMap(({ owner, fields }) => {
    const { manager, operation, apiVersion, subresource } = owner
    return [...paths(fields)]
      .filter(path => !isAllowed(path))
      .map(path => {
        return { manager, operation, apiVersion, subresource, field: printPath(path) }
      })
  })
}

/** The 409 Conflict that lists every owner and field. */
export function conflictError(conflicts: readonly Conflict[]): ApiError {
  const causes = conflicts.map(conflict => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${describeManager(conflict)}`,
    field: conflict.field,
  }))
  return apiError('Conflict', conflictMessage(conflicts), { causes })
}

function conflictMessage(conflicts: readonly Conflict[]): string {
  const [only] = conflicts
  if (only !== undefined && conflicts.length === 1) {
    return `Apply failed with 1 conflict: conflict with ${describeManager(only)}: ${only.field}`
  }
  const lines: string[] = []
  let owner = ''
  for (const conflict of conflicts) {
    const identity = identify(conflict)
    if (identity !== owner) lines.push(`conflicts with ${describeManager(conflict)}:`)
    owner = identity
    lines.push(`- ${conflict.field}`)
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`
}

/** `"kubectl" with subresource "status" using apps/v1`; for Apply entries the version is omitted. */
function describeManager({ manager, operation, apiVersion, subresource }: ManagerIdentity): string {
  const part = subresource === '' ? '' : ` with subresource ${quote(subresource)}`
  return `${quote(manager)}${part}${operation === 'Update' ? ` using ${apiVersion}` : ''}`
}
