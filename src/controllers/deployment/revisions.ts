/** The ReplicaSets of a Deployment as its revisions: which one is current, and the annotations on each. */
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import { int64Max, parseInt64 } from '#/api/text/int64.ts'
import { controllerReference, type Named, type Stored } from '#/api/metadata.ts'
import type { RolloutLimits } from './rollout-limits.ts'
import { hashLabel, sameTemplate, templateHash } from './template.ts'

export const revisionAnnotation = 'deployment.kubernetes.io/revision'
export const desiredReplicasAnnotation = 'deployment.kubernetes.io/desired-replicas'
export const maxReplicasAnnotation = 'deployment.kubernetes.io/max-replicas'
export const rollbackAnnotation = 'deprecated.deployment.rollback.to'
const historyAnnotation = 'deployment.kubernetes.io/revision-history'
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'

/** Annotations that are not copied between a Deployment and its ReplicaSets. */
const ownAnnotations: ReadonlySet<string> = new Set([
  lastAppliedAnnotation,
  revisionAnnotation,
  historyAnnotation,
  desiredReplicasAnnotation,
  maxReplicasAnnotation,
  rollbackAnnotation,
])

export type Annotations = Readonly<Record<string, string>>

export interface Revisions {
  /** The ReplicaSet with the Deployment's current template (upstream's new replica set). */
  readonly newReplicaSet: Stored<ReplicaSet> | undefined
  /** Sorted by age, oldest first. */
  readonly old: readonly Stored<ReplicaSet>[]
}

export function revisionsOf(deployment: Deployment, replicaSets: readonly Stored<ReplicaSet>[]): Revisions {
  const sorted = replicaSets.toSorted(byAge)
  // Several ReplicaSets may have this template; the oldest is always chosen.
  const newReplicaSet = sorted.find(set => sameTemplate(set.spec?.template, deployment.spec?.template))
  return { newReplicaSet, old: sorted.filter(set => set !== newReplicaSet) }
}

/** Oldest first. */
export function byAge(left: Stored<ReplicaSet>, right: Stored<ReplicaSet>): number {
  const [one, other] = [left, right].map(({ metadata }) => metadata.creationTimestamp)
  if (one !== other) return one! < other! ? -1 : 1
  return left.metadata.name < right.metadata.name ? -1 : 1
}

/** Undefined if the annotation is not a number. */
export function revisionOf({ metadata }: Pick<ReplicaSet, 'metadata'>): bigint | undefined {
  const revision = parseInt64(metadata.annotations?.[revisionAnnotation] ?? '0')
  return revision === undefined ? undefined : BigInt(revision)
}

/** One more than the highest revision. */
export function nextRevision(old: readonly ReplicaSet[]): bigint {
  const highest = old.reduce((most, set) => {
    const revision = revisionOf(set) ?? 0n
    return revision > most ? revision : most
  }, 0n)
  return highest < int64Max ? highest + 1n : highest
}

/** The new ReplicaSet with the Deployment's annotations, its revision number and `minReadySeconds`. */
export function withRevision(set: ReplicaSet, deployment: Deployment, revision: bigint): ReplicaSet {
  const before = set.metadata.annotations ?? {}
  const last = revisionOf(set)
  const annotations =
    last === undefined
      ? before
      : { ...before, ...sharedAnnotations(deployment), ...countedRevision(before, last, revision) }
  const minReadySeconds = deployment.spec?.minReadySeconds ?? 0
  const changed = withAnnotations(set, annotations)
  if (set.spec === undefined || (set.spec.minReadySeconds ?? 0) === minReadySeconds) return changed
  return { ...changed, spec: { ...set.spec, minReadySeconds } }
}

/**
 * After a rollback the ReplicaSet gets a new revision number; the previous ones are kept in the history
 * annotation.
 */
function countedRevision(before: Annotations, last: bigint, revision: bigint): Annotations {
  if (last >= revision) return {}
  const counted = { [revisionAnnotation]: String(revision) }
  const lastText = before[revisionAnnotation]
  if (lastText === undefined) return counted
  const past = (before[historyAnnotation] ?? '').split(',').filter(each => each !== '')
  return { ...counted, [historyAnnotation]: withinLength([...past, lastText]) }
}

/** Maximum length of the history annotation; the oldest revisions are dropped first. */
const historyCharactersMax = 2_000

function withinLength(past: readonly string[]): string {
  let kept = past
  while (kept.length > 1 && kept.join(',').length > historyCharactersMax) kept = kept.slice(1)
  return kept.join(',')
}

export function sharedAnnotations({ metadata }: Pick<Deployment, 'metadata'>): Annotations {
  return pickAnnotations(metadata.annotations, name => !ownAnnotations.has(name))
}

export function unsharedAnnotations({ metadata }: Pick<Deployment, 'metadata'>): Annotations {
  return pickAnnotations(metadata.annotations, name => ownAnnotations.has(name))
}

function pickAnnotations(all: Annotations | undefined, isWanted: (name: string) => boolean): Annotations {
  return Object.fromEntries(Object.entries(all ?? {}).filter(([name]) => isWanted(name)))
}

/** Returns the same object if nothing changes. */
export function withAnnotations<T extends ReplicaSet | Deployment>(object: T, annotations: Annotations): T {
  const before = object.metadata.annotations ?? {}
  const names = Object.keys(annotations)
  const isSame =
    names.length === Object.keys(before).length && names.every(name => before[name] === annotations[name])
  return isSame ? object : { ...object, metadata: { ...object.metadata, annotations } }
}

export function replicasOf(set: ReplicaSet): number {
  return set.spec?.replicas ?? 1
}

/** The ReplicaSet with this size, and with annotations that proportional scaling reads later. */
export function withReplicas(set: ReplicaSet, size: number, limits: RolloutLimits): ReplicaSet {
  const sized =
    set.spec === undefined || replicasOf(set) === size
      ? set
      : { ...set, spec: { ...set.spec, replicas: size } }
  return withAnnotations(sized, { ...set.metadata.annotations, ...replicasAnnotations(limits) })
}

function replicasAnnotations({ replicas, maxReplicas }: RolloutLimits): Annotations {
  return { [desiredReplicasAnnotation]: String(replicas), [maxReplicasAnnotation]: String(maxReplicas) }
}

/** The Deployment's desired or maximum replicas, as noted when the ReplicaSet was last scaled. */
export function replicasAnnotationOf(set: ReplicaSet, annotation: string): number | undefined {
  const text = set.metadata.annotations?.[annotation]
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

export interface ReplicaSetOptions {
  readonly deployment: Stored<Deployment>
  readonly revision: bigint
  readonly replicas: number
  readonly limits: RolloutLimits
}

/**
 * The ReplicaSet for the Deployment's current template. Its name is derived from the template, so creation is
 * idempotent.
 */
export function buildReplicaSet({
  deployment,
  revision,
  replicas,
  limits,
}: ReplicaSetOptions): Named<ReplicaSet> {
  const { metadata, spec, status } = deployment
  const template = spec?.template ?? {}
  const hash = templateHash(template, status?.collisionCount)
  const labels = { ...template.metadata?.labels, [hashLabel]: hash }
  return {
    metadata: {
      name: `${metadata.name.slice(0, nameCharactersMax - hash.length - 1)}-${hash}`,
      ...(metadata.namespace && { namespace: metadata.namespace }),
      ownerReferences: [controllerReference(deployment)],
      labels,
      annotations: {
        ...sharedAnnotations(deployment),
        [revisionAnnotation]: String(revision),
        ...replicasAnnotations(limits),
      },
    },
    spec: {
      replicas,
      ...(spec?.minReadySeconds && { minReadySeconds: spec.minReadySeconds }),
      selector: { ...spec?.selector, matchLabels: { ...spec?.selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }
}

const nameCharactersMax = 253
