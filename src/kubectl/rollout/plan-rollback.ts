import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { revisionAnnotation, templateIn, type Revision } from './revision.ts'

export interface RollbackOptions {
  readonly object: JsonObject
  readonly revisions: readonly Revision[]
  /** 0 for the one before the current one. */
  readonly toRevision: number
}

/** The revision to roll back to. Throws Error if there is none. */
export function findRevision({ object, revisions, toRevision }: RollbackOptions): Revision {
  const found = toRevision === 0 ? revisions.at(-2) : revisions.find(({ number }) => number === toRevision)
  if (found !== undefined) return found
  if (toRevision !== 0) throw new Error(`unable to find specified revision ${toRevision} in history`)
  const { kind, metadata } = object
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : ''
  throw new Error(
    kind === 'Deployment'
      ? `no rollout history found for deployment ${quote(name)}`
      : 'no last revision to roll back to',
  )
}

export interface RollbackPatch {
  readonly type: 'json' | 'strategic'
  readonly patch: JsonObject | readonly JsonObject[]
}

/** Undefined if the workload is as in the revision. Throws Error if it is paused. */
export function planRollback(object: JsonObject, revision: Revision): RollbackPatch | undefined {
  return revision.patch === undefined
    ? planDeploymentRollback(object, revision)
    : planSetRollback(object, revision.patch)
}

const paused =
  "you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again"

function planDeploymentRollback(object: JsonObject, revision: Revision): RollbackPatch | undefined {
  const { spec } = object
  if (isObject(spec) && spec['paused'] === true) throw new Error(paused)
  const template = withoutHash(revision.template as unknown as JsonObject)
  if (equalJson(template, withoutHash(templateIn(object) as unknown as JsonObject))) return undefined
  const kept = Object.entries(annotationsOf(object)).filter(([name]) => keptAnnotations.has(name))
  const restored = Object.entries(annotationsOf(revision.object)).filter(
    ([name]) => !keptAnnotations.has(name),
  )
  const annotations = Object.fromEntries([...kept, ...restored])
  return {
    type: 'json',
    patch: [
      { op: 'replace', path: '/spec/template', value: template },
      { op: 'replace', path: '/metadata/annotations', value: annotations },
    ],
  }
}

/** Annotations that describe the deployment, not a revision of it. */
const keptAnnotations: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  'deployment.kubernetes.io/revision-history',
  'deployment.kubernetes.io/desired-replicas',
  'deployment.kubernetes.io/max-replicas',
  'deprecated.deployment.rollback.to',
])

function planSetRollback(object: JsonObject, patch: JsonObject): RollbackPatch | undefined {
  const current = {
    spec: { template: { ...(templateIn(object) as unknown as JsonObject), $patch: 'replace' } },
  }
  return equalJson(current, patch) ? undefined : { type: 'strategic', patch }
}

/** The label `pod-template-hash` is in the templates of replica sets only. */
function withoutHash(template: JsonObject): JsonObject {
  const { metadata } = template
  if (!isObject(metadata) || !isObject(metadata['labels'])) return template
  const { 'pod-template-hash': _hash, ...labels } = metadata['labels']
  const { labels: _labels, ...rest } = metadata
  return { ...template, metadata: Object.keys(labels).length > 0 ? { ...rest, labels } : rest }
}

function annotationsOf({ metadata }: JsonObject): JsonObject {
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined
  return isObject(annotations) ? annotations : {}
}
