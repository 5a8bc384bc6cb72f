/** What is to be done next for a StorageVersionMigration. */
import { isTrue } from '#/api/conditions.ts'
import type { StorageVersionMigration } from '#/api/generated/storagemigration/v1beta1.ts'

export type MigrationStep =
  /** It may run: no other migration of the resource does. */
  | 'activate'
  /** The resourceVersion is recorded up to which objects are rewritten. */
  | 'checkpoint'
  | 'migrate'
  /** It has ended, and does not run any more. */
  | 'finish'
  | 'nothing'

/** `ofResource` are all migrations of its resource. */
export function planMigrationStep(
  migration: StorageVersionMigration,
  ofResource: readonly StorageVersionMigration[],
): MigrationStep {
  if (isRunning(migration)) {
    if (isTerminal(migration)) return 'finish'
    return migration.status?.resourceVersion ? 'migrate' : 'checkpoint'
  }
  if (isTerminal(migration) || ofResource.some(isRunning)) return 'nothing'
  const [next] = ofResource.filter(each => !isTerminal(each)).toSorted(compareAge)
  return next?.metadata.name === migration.metadata.name ? 'activate' : 'nothing'
}

function isRunning({ status }: StorageVersionMigration): boolean {
  return isTrue(status?.conditions, 'Running')
}

function isTerminal({ status }: StorageVersionMigration): boolean {
  return isTrue(status?.conditions, 'Succeeded') || isTrue(status?.conditions, 'Failed')
}

function compareAge(
  { metadata: a }: StorageVersionMigration,
  { metadata: b }: StorageVersionMigration,
): number {
  const keyOf = ({ creationTimestamp = '', name = '' }: typeof a): string => `${creationTimestamp} ${name}`
  return keyOf(a) < keyOf(b) ? -1 : 1
}
