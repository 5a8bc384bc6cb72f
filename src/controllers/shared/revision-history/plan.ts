import type { ControllerRevision } from '#/api/generated/apps/v1.ts'
import { compareInt64, toInt64, type Int64 } from '#/api/text/int64.ts'
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { hasTemplate } from './data.ts'

/** The action that makes the revision of the current template the newest. */
export type RevisionPlan =
  | { readonly do: 'nothing'; readonly revision: Stored<ControllerRevision> }
  /** Rollback: an old revision becomes the newest. */
  | { readonly do: 'renumber'; readonly revision: Stored<ControllerRevision>; readonly number: Int64 }
  | { readonly do: 'create'; readonly number: Int64 }

/** `revisions` are all revisions of the set, oldest first. */
export function planRevision(
  revisions: readonly Stored<ControllerRevision>[],
  template: PodTemplateSpec,
): RevisionPlan {
  const newest = revisions.at(-1)
  const number = toInt64(BigInt(newest?.revision ?? 0) + 1n)
  const revision = revisions.findLast(each => hasTemplate(each, template))
  if (revision === undefined) return { do: 'create', number }
  return revision === newest ? { do: 'nothing', revision } : { do: 'renumber', revision, number }
}

export function oldestFirst(
  revisions: readonly Stored<ControllerRevision>[],
): readonly Stored<ControllerRevision>[] {
  return revisions.toSorted(
    (left, right) =>
      compareInt64(left.revision, right.revision) ||
      compareText(left.metadata.creationTimestamp, right.metadata.creationTimestamp) ||
      compareText(left.metadata.name, right.metadata.name),
  )
}

function compareText(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}
