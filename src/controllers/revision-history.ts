/**
 * What stateful sets and daemon sets were like, as ControllerRevisions, so that they can tell pods of one template from
 * those of another and go back. A revision is found by what it keeps, not by its name: a set that goes back gets its
 * old revision again, as the newest. The name has a hash of what is kept; where that name is taken by something else,
 * another is tried.
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
} from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { compileLabelSelector, type LabelSelector } from '#/api/selector.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { claim } from './claim.ts'
import type { ControllerContext } from './controller.ts'
import { onOrphan, onOwnedChange, orphanIndex, ownedIndex } from './owned.ts'
import { keeps, revisionData, revisionHash, templateIn } from './revision-history/data.ts'
import { oldestFirst, planRevision } from './revision-history/plan.ts'

export { templateIn }

/** What stateful sets and daemon sets have in common. */
export interface RevisionedSet extends KubernetesObject {
  readonly spec?: { readonly selector: LabelSelector; readonly template: PodTemplateSpec }
  readonly status?: { readonly collisionCount?: number }
}

export interface RevisionHistory<T extends RevisionedSet> {
  /** The revisions of a set, the oldest first, after adoption and release. */
  claimed(set: T, client: Client): Promise<readonly ControllerRevision[]>
}

/** Reads revisions, and wakes sets whose revisions others change. */
export function revisionHistory<T extends RevisionedSet>(
  { informer, enqueue }: Pick<ControllerContext, 'informer' | 'enqueue'>,
  resource: Resource<T>,
  sets: Informer<T>,
): RevisionHistory<T> {
  const revisions = informer(controllerRevisions)
  const owned = ownedIndex(revisions)
  const orphans = orphanIndex(revisions)
  onOwnedChange(revisions, resource, (key, { before }) => {
    // One that has just been made is the set's own, or tells it nothing that could not wait.
    if (before !== undefined) enqueue(key)
  })
  onOrphan(revisions, orphan => {
    for (const set of sets.inNamespace(orphan.metadata?.namespace ?? '')) {
      if (compileLabelSelector(set.spec?.selector).matches(orphan.metadata?.labels)) enqueue(keyOf(set))
    }
  })
  return {
    claimed: async (set, client) => {
      const { uid = '', namespace = '' } = set.metadata ?? {}
      const claimed = await claim({
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
  /** The one that keeps the template as it is now; the newest of all. */
  readonly revision: ControllerRevision
  /** Others that keep the same. */
  readonly duplicates: readonly ControllerRevision[]
  readonly collisionCount: number
}

/** Makes sure that the newest revision of a set keeps its template as it is now. */
export async function recordRevision(options: {
  readonly set: RevisionedSet
  /** All of the set, the oldest first. */
  readonly revisions: readonly ControllerRevision[]
  /** The label of a revision that has its hash. */
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
    duplicates: revisions.filter(each => each !== revision && keeps(each, template)),
    collisionCount: set.status?.collisionCount ?? 0,
  }
}

interface NewRevision {
  readonly set: RevisionedSet
  readonly template: PodTemplateSpec
  readonly number: ControllerRevision['revision']
  readonly hashLabel: string
  readonly client: Client
}

/** Names are tried until one is free or has what is wanted; each that is not counts as a collision. */
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
    const { namespace, name = '' } = candidate.metadata ?? {}
    const revision = await client.find(controllerRevisions, { namespace, name })
    if (revision && keeps(revision, template) && isControlledBy(revision, set) && !isBeingDeleted(revision))
      return { revision, collisionCount }
  }
}

/** Of the owner's name in that of a revision; the rest is for the hash. */
const prefixCharactersMax = 223

function newRevision(
  { set, template, number, hashLabel }: NewRevision,
  collisionCount: number,
): ControllerRevision {
  const { namespace, name = '', annotations } = set.metadata ?? {}
  const reference = controllerReference(set)
  const data = revisionData(template)
  const hash = revisionHash(data, collisionCount)
  return {
    metadata: {
      name: `${name.slice(0, prefixCharactersMax)}-${hash}`,
      ...(namespace && { namespace }),
      labels: { ...template.metadata?.labels, [hashLabel]: hash },
      ...(annotations && { annotations }),
      ...(reference && { ownerReferences: [reference] }),
    },
    data,
    revision: number,
  }
}

/** Removes revisions, the oldest first; those that others have removed already are gone too. */
export async function deleteRevisions(
  client: Client,
  revisions: readonly ControllerRevision[],
): Promise<void> {
  for (const { metadata } of revisions) {
    const { namespace, name = '', uid = '' } = metadata ?? {}
    try {
      await client.delete(controllerRevisions, { namespace, name }, { preconditions: { uid } })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}
