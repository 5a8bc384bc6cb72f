/** What stands against applying a configuration, and how the client is told. */
import { apiError, type ApiError } from '../errors.ts'
import { quote } from '../quote.ts'
import { paths, type FieldSet } from './field-set.ts'
import { identify, type ManagerIdentity } from './managed-fields.ts'
import { compareText, printPath, type Path } from './path-element.ts'

/** A field that the configuration would change and that somebody else owns. */
export interface Conflict extends ManagerIdentity {
  /** `.spec.containers[name="web"].image`. */
  readonly field: string
}

/** Fields that one manager owns and that an applied configuration changes. */
export interface ContestedFields {
  readonly owner: ManagerIdentity
  readonly fields: FieldSet
}

/** The conflicts, by owner and then by path; those whose path is allowed do not count. */
export function listConflicts(
  contested: readonly ContestedFields[],
  isAllowed: (path: Path) => boolean = () => false,
): Conflict[] {
  const byOwner = [...contested].sort((a, b) => compareText(identify(a.owner), identify(b.owner)))
  return byOwner.flatMap(({ owner, fields }) => {
    const { manager, operation, apiVersion, subresource } = owner
    return [...paths(fields)]
      .filter(path => !isAllowed(path))
      .map(path => {
        return { manager, operation, apiVersion, subresource, field: printPath(path) }
      })
  })
}

/** The 409 that names every owner and every field. */
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

/** `"kubectl" with subresource "status" using apps/v1`; one who applies is the same in every version. */
function describeManager({ manager, operation, apiVersion, subresource }: ManagerIdentity): string {
  const part = subresource === '' ? '' : ` with subresource ${quote(subresource)}`
  return `${quote(manager)}${part}${operation === 'Update' ? ` using ${apiVersion}` : ''}`
}
