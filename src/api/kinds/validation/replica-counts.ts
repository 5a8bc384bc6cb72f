/** Validation of replica counts in the status of workload controllers. */
import { invalid, type FieldError } from '../../field-error.ts'
import type { Int64 } from '../../text/int64.ts'
import { validateNonNegative } from './field-checks.ts'

export interface ReplicaCounts {
  readonly replicas?: number
  readonly readyReplicas?: number
  readonly availableReplicas?: number
  readonly observedGeneration?: Int64
}

export interface ReplicaCountsOptions<T> {
  /** The counts that must not exceed `replicas`. */
  readonly parts: readonly (keyof T & string)[]
  /** Name of `readyReplicas` in messages. */
  readonly readyName?: string
}

export function validateReplicaCounts<T extends ReplicaCounts>(
  field: string,
  status: T,
  { parts, readyName = 'readyReplicas' }: ReplicaCountsOptions<T>,
): FieldError[] {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0, observedGeneration } = status
  const counts = parts.map(name => [name, numberIn(status[name])] as const)
  const errors = [
    ...validateNonNegative(`${field}.replicas`, replicas),
    ...counts.flatMap(([name, count]) => validateNonNegative(`${field}.${name}`, count)),
    ...validateNonNegative(`${field}.observedGeneration`, observedGeneration),
  ]
  for (const [name, count] of counts) {
    if (count > replicas) {
      errors.push(invalid(`${field}.${name}`, count, 'cannot be greater than status.replicas'))
    }
  }
  if (availableReplicas > readyReplicas) {
    errors.push(
      invalid(`${field}.availableReplicas`, availableReplicas, `cannot be greater than ${readyName}`),
    )
  }
  return errors
}

/** The collision count must never decrease. */
export function validateCollisionCount(count: number | undefined, old: number | undefined): FieldError[] {
  const field = 'status.collisionCount'
  const errors = validateNonNegative(field, count)
  const isLess = old !== undefined && (count ?? 0) < old
  return isLess ? [...errors, invalid(field, count ?? 0, 'cannot be decremented')] : errors
}

function numberIn(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
