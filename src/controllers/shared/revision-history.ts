/**
 * ControllerRevisions of StatefulSets and DaemonSets, which identify the template of a pod and allow
 * rollbacks. A revision is found by its contents: after a rollback the old revision is renumbered as the
 * newest. Its name contains a hash of the contents; on a collision another hash is tried.
 * https://kubernetes.io/docs/tasks/manage-daemon/rollback-daemon-set/#understanding-daemonset-revisions
 */
import { isApiError } from '#/api/errors.ts'
import type { ControllerRevision } from '#/api/generated/apps/v1.ts'
import { controllerRevisions } from '#/api/generated/apps/v1-resources.ts'
import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import {
  controllerReference,
  isBeingDeleted,
  isControlledBy,
  keyOf,
  type KubernetesObject,
  type Named,
  type Stored,
} from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { compareInt64, toInt64, type Int64 } from '#/api/text/int64.ts'
import { compileLabelSelector, type LabelSelector } from '#/api/selectors/selector.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { claimObjects } from './controller-ref.ts'
import type { ControllerContext } from '../controller.ts'
import { onOrphan, enqueueForOwner, orphanIndex, controllerRefIndex } from './controller-ref-index.ts'
import { hasTemplate, revisionData, revisionHash } from './revision-data.ts'

/** The common fields of StatefulSets and DaemonSets. */
export interface RevisionedSet extends KubernetesObject {
  readonly spec?: { readonly selector: LabelSelector; readonly template: PodTemplateSpec }
  readonly status?: { readonly collisionCount?: number }
}

export interface RevisionHistory<T extends RevisionedSet> {
  /** Revisions of a set, oldest first, after adoption and release. */
  claimRevisions(set: Stored<T>, client: Client): Promise<readonly Stored<ControllerRevision>[]>
}

/** Watches revisions and enqueues their sets. */
export function revisionHistory<T extends RevisionedSet>(
  { informer, enqueue }: Pick<ControllerContext, 'informer' | 'enqueue'>,
  resource: Resource<T>,
  sets: Informer<T>,
): RevisionHistory<T> {
  const revisions = informer(controllerRevisions)
  const owned = controllerRefIndex(revisions)
  const orphans = orphanIndex(revisions)
  enqueueForOwner(revisions, resource, (key, { oldObject }) => {
    // A new revision was created by the set's own reconcile, or needs no immediate action.
    if (oldObject !== undefined) enqueue(key)
  })
  onOrphan(revisions, orphan => {
    for (const set of sets.inNamespace(orphan.metadata.namespace ?? '')) {
      if (compileLabelSelector(set.spec?.selector).matches(orphan.metadata.labels)) enqueue(keyOf(set))
    }
  })
  return {
    claimRevisions: async (set, client) => {
      const { uid, namespace = '' } = set.metadata
      const claimed = await claimObjects({
        client,
        owner: set,
        ownerResource: resource,
        resource: controllerRevisions,
        selector: compileLabelSelector(set.spec?.selector),
        candidates: [...owned.get(uid), ...orphans.get(namespace)],
      })
      return oldestFirst(claimed)
    },
  }
}

export interface RecordedRevision {
  /** The revision with the current template, which has the highest number. */
  readonly revision: Stored<ControllerRevision>
  /** Other revisions with the same contents. */
  readonly duplicates: readonly Stored<ControllerRevision>[]
  readonly collisionCount: number
}

/** Ensures that the newest revision of a set has its current template. */
export async function recordRevision(options: {
  readonly set: Stored<RevisionedSet>
  /** All revisions of the set, oldest first. */
  readonly revisions: readonly Stored<ControllerRevision>[]
  /** Label of revisions that contains the hash. */
  readonly hashLabel: string
  readonly client: Client
}): Promise<RecordedRevision> {
  const { set, revisions, client } = options
  const template = set.spec?.template ?? {}
  const plan = planRevision(revisions, template)
  if (plan.do === 'create') {
    const made = await createRevision({ ...options, template, number: plan.number })
    return { ...made, duplicates: [] }
  }
  const { revision } = plan
  const renumbered = plan.do === 'renumber' ? { ...revision, revision: plan.number } : undefined
  return {
    revision: renumbered ? await client.update(controllerRevisions, renumbered) : revision,
    duplicates: revisions.filter(each => each !== revision && hasTemplate(each, template)),
    collisionCount: set.status?.collisionCount ?? 0,
  }
}

/** The action that makes the revision of the current template the newest. */
type RevisionPlan =
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

interface NewRevision {
  readonly set: Stored<RevisionedSet>
  readonly template: PodTemplateSpec
  readonly number: ControllerRevision['revision']
  readonly hashLabel: string
  readonly client: Client
}

/**
 * Tries names until one is free or belongs to an equal revision; each other conflict increments
 * `collisionCount`.
 */
async function createRevision(
  wanted: NewRevision,
): Promise<Pick<RecordedRevision, 'revision' | 'collisionCount'>> {
  const { set, template, client } = wanted
  for (let collisionCount = set.status?.collisionCount ?? 0; ; collisionCount++) {
    const candidate = newRevision(wanted, collisionCount)
    try {
      return { revision: await client.create(controllerRevisions, candidate), collisionCount }
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error
    }
    const { namespace, name } = candidate.metadata
    const revision = await client.find(controllerRevisions, { namespace, name })
    if (
      revision &&
      hasTemplate(revision, template) &&
      isControlledBy(revision, set) &&
      !isBeingDeleted(revision)
    )
      return { revision, collisionCount }
  }
}

/** Maximum length of the owner's name within a revision's name; the rest is reserved for the hash. */
const prefixCharactersMax = 223

function newRevision(
  { set, template, number, hashLabel }: NewRevision,
  collisionCount: number,
): Named<ControllerRevision> {
  const { namespace, name, annotations } = set.metadata
  const data = revisionData(template)
  const hash = revisionHash(data, collisionCount)
  return {
    metadata: {
      name: `${name.slice(0, prefixCharactersMax)}-${hash}`,
      ...(namespace && { namespace }),
      labels: { ...template.metadata?.labels, [hashLabel]: hash },
      ...(annotations && { annotations }),
      ownerReferences: [controllerReference(set)],
    },
    data,
    revision: number,
  }
}

/** Deletes revisions in order, ignoring those that no longer exist. */
export async function deleteRevisions(
  client: Client,
  revisions: readonly Stored<ControllerRevision>[],
): Promise<void> {
  for (const { metadata } of revisions) {
    const { namespace, name, uid } = metadata
    try {
      await client.delete(controllerRevisions, { namespace, name }, { preconditions: { uid } })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}
