/** The replica sets of a deployment as revisions of it: which is the present one, and what is written on each. */
import type { Deployment, ReplicaSet } from '#/api/generated/apps/v1.ts'
import { int64Max, parseInt64 } from '#/api/int64.ts'
import { controllerReference } from '#/api/metadata.ts'
import type { Bounds } from './bounds.ts'
import { hashLabel, sameTemplate, templateHash } from './template.ts'

export const revisionAnnotation = 'deployment.kubernetes.io/revision'
export const desiredReplicasAnnotation = 'deployment.kubernetes.io/desired-replicas'
export const maxReplicasAnnotation = 'deployment.kubernetes.io/max-replicas'
export const rollbackAnnotation = 'deprecated.deployment.rollback.to'
const historyAnnotation = 'deployment.kubernetes.io/revision-history'
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'

/** What belongs to the deployment, or to the replica set, alone. */
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
  /** The one that has the template of the deployment. */
  readonly present: ReplicaSet | undefined
  /** The oldest first. */
  readonly old: readonly ReplicaSet[]
}

export function revisionsOf(deployment: Deployment, replicaSets: readonly ReplicaSet[]): Revisions {
  const sorted = replicaSets.toSorted(byAge)
  // Somebody may have made two with this template; the oldest is the one for all time.
  const present = sorted.find(set => sameTemplate(set.spec?.template, deployment.spec?.template))
  return { present, old: sorted.filter(set => set !== present) }
}

/** The oldest first. */
export function byAge(left: ReplicaSet, right: ReplicaSet): number {
  const [one, other] = [left, right].map(({ metadata }) => metadata?.creationTimestamp ?? '')
  if (one !== other) return one! < other! ? -1 : 1
  return (left.metadata?.name ?? '') < (right.metadata?.name ?? '') ? -1 : 1
}

/** Undefined when somebody wrote something there that is no number. */
export function revisionOf({ metadata }: Pick<ReplicaSet, 'metadata'>): bigint | undefined {
  const revision = parseInt64(metadata?.annotations?.[revisionAnnotation] ?? '0')
  return revision === undefined ? undefined : BigInt(revision)
}

/** The revision that comes after all of these. */
export function nextRevision(old: readonly ReplicaSet[]): bigint {
  const highest = old.reduce((most, set) => {
    const revision = revisionOf(set) ?? 0n
    return revision > most ? revision : most
  }, 0n)
  return highest < int64Max ? highest + 1n : highest
}

/** The present replica set with what is to be written on it: the deployment's annotations and its revision. */
export function withPresence(set: ReplicaSet, deployment: Deployment, revision: bigint): ReplicaSet {
  const before = set.metadata?.annotations ?? {}
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

/** A revision that is rolled back to has had other numbers; they stay for those who look at the history. */
function countedRevision(before: Annotations, last: bigint, revision: bigint): Annotations {
  if (last >= revision) return {}
  const counted = { [revisionAnnotation]: String(revision) }
  const lastText = before[revisionAnnotation]
  if (lastText === undefined) return counted
  const past = (before[historyAnnotation] ?? '').split(',').filter(each => each !== '')
  return { ...counted, [historyAnnotation]: withinLength([...past, lastText]) }
}

/** Characters of past revisions that are kept; the oldest go first. */
const historyCharactersMax = 2_000

function withinLength(past: readonly string[]): string {
  let kept = past
  while (kept.length > 1 && kept.join(',').length > historyCharactersMax) kept = kept.slice(1)
  return kept.join(',')
}

/** What a deployment and its replica sets have in common. */
export function sharedAnnotations({ metadata }: Pick<Deployment, 'metadata'>): Annotations {
  return pickAnnotations(metadata?.annotations, name => !ownAnnotations.has(name))
}

export function unsharedAnnotations({ metadata }: Pick<Deployment, 'metadata'>): Annotations {
  return pickAnnotations(metadata?.annotations, name => ownAnnotations.has(name))
}

function pickAnnotations(all: Annotations | undefined, isWanted: (name: string) => boolean): Annotations {
  return Object.fromEntries(Object.entries(all ?? {}).filter(([name]) => isWanted(name)))
}

/** The same object when they are what it has. */
export function withAnnotations<T extends ReplicaSet | Deployment>(object: T, annotations: Annotations): T {
  const before = object.metadata?.annotations ?? {}
  const names = Object.keys(annotations)
  const isSame =
    names.length === Object.keys(before).length && names.every(name => before[name] === annotations[name])
  return isSame ? object : { ...object, metadata: { ...object.metadata, annotations } }
}

export function sizeOf(set: ReplicaSet): number {
  return set.spec?.replicas ?? 1
}

/** The replica set with so many pods, and with what a later scaling has to know about the deployment of now. */
export function withSize(set: ReplicaSet, size: number, bounds: Bounds): ReplicaSet {
  const sized =
    set.spec === undefined || sizeOf(set) === size ? set : { ...set, spec: { ...set.spec, replicas: size } }
  return withAnnotations(sized, { ...set.metadata?.annotations, ...countAnnotations(bounds) })
}

function countAnnotations({ replicas, replicasMax }: Bounds): Annotations {
  return { [desiredReplicasAnnotation]: String(replicas), [maxReplicasAnnotation]: String(replicasMax) }
}

/** How many pods the deployment had, or could have, when the replica set was last scaled. */
export function countOnSet(set: ReplicaSet, annotation: string): number | undefined {
  const text = set.metadata?.annotations?.[annotation]
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

export interface NewReplicaSet {
  readonly deployment: Deployment
  readonly revision: bigint
  readonly size: number
  readonly bounds: Bounds
}

/** The replica set for the template that the deployment has now. Its name follows from that, so it is made once. */
export function newReplicaSet({ deployment, revision, size, bounds }: NewReplicaSet): ReplicaSet {
  const { metadata, spec, status } = deployment
  const template = spec?.template ?? {}
  const hash = templateHash(template, status?.collisionCount)
  const labels = { ...template.metadata?.labels, [hashLabel]: hash }
  const reference = controllerReference(deployment)
  return {
    metadata: {
      name: `${(metadata?.name ?? '').slice(0, nameCharactersMax - hash.length - 1)}-${hash}`,
      ...(metadata?.namespace && { namespace: metadata.namespace }),
      ...(reference && { ownerReferences: [reference] }),
      labels,
      annotations: {
        ...sharedAnnotations(deployment),
        [revisionAnnotation]: String(revision),
        ...countAnnotations(bounds),
      },
    },
    spec: {
      replicas: size,
      ...(spec?.minReadySeconds && { minReadySeconds: spec.minReadySeconds }),
      selector: { ...spec?.selector, matchLabels: { ...spec?.selector.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  }
}

const nameCharactersMax = 253
