import type { PodTemplateSpec } from '#/api/generated/core/v1.ts'
import { annotationOf, isControlledBy, objectOf } from '#/api/metadata.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { compileLabelSelector, type LabelSelector } from '#/api/selectors/selector.ts'
import type { Factory } from '../factory.ts'
import { builtInResources } from '../resource/built-in-resources.ts'
import { itemsOf } from '../resource/find-resources.ts'
import { locationOf, type Info } from '../resource/info.ts'

/** A state of a workload that it can be rolled back to. */
export interface Revision {
  readonly number: number
  /** Empty if it is not known. */
  readonly changeCause: string
  readonly template: PodTemplateSpec
  /** The ReplicaSet of a deployment; otherwise the workload as it was. */
  readonly object: JsonObject
  /** The patch that restores the revision; absent for a ReplicaSet. */
  readonly patch?: JsonObject
}

export const revisionAnnotation = 'deployment.kubernetes.io/revision'

export const changeCauseAnnotation = 'kubernetes.io/change-cause'

/** Kinds that a history can be asked for, although they have none. */
const kindsWithoutHistory = [
  'Job.batch',
  'CronJob.batch',
  'Pod',
  'ReplicaSet.apps',
  'ReplicaSet.extensions',
  'ReplicationController',
]

/** The revisions of a workload, oldest first. `what` is the purpose, for errors. */
export async function revisionsOf(
  factory: Factory,
  info: Info,
  what: 'history' | 'rollbacker',
): Promise<readonly Revision[]> {
  const { kind, group } = info.mapping
  const groupKind = group === '' ? kind : `${kind}.${group}`
  switch (groupKind) {
    case 'Deployment.apps':
    case 'Deployment.extensions':
      return sorted(
        (await controlledBy(factory, info, builtInResources.replicaSets)).flatMap(replicaSetRevision),
      )
    case 'DaemonSet.apps':
    case 'DaemonSet.extensions':
    case 'StatefulSet.apps': {
      const stored = await controlledBy(factory, info, builtInResources.controllerRevisions)
      return sorted(stored.flatMap(each => controllerRevision(each, info.object ?? {})))
    }
  }
  const name = what === 'history' ? 'history viewer' : 'rollbacker'
  const shown = what === 'history' || group !== '' ? `"${groupKind}"` : `{"" "${kind}"}`
  if (kindsWithoutHistory.includes(groupKind)) throw new Error(`no ${name} has been implemented for ${shown}`)
  throw new Error(
    `error retrieving ${what} for "${groupKind}", no visitor method exists for {${group} ${kind}}`,
  )
}

async function controlledBy(
  factory: Factory,
  info: Info,
  mapping: (typeof builtInResources)['replicaSets'],
): Promise<readonly JsonObject[]> {
  const { spec } = info.object ?? {}
  const selector = isObject(spec) ? spec['selector'] : undefined
  const labelSelector = compileLabelSelector(selector as LabelSelector | undefined).toString()
  const resources = await factory.resources()
  const { namespace } = locationOf(info)
  const list = await resources.get({ mapping, namespace }, { labelSelector })
  const owner = objectOf(info.object ?? {})
  return itemsOf(list).filter(item => isControlledBy(objectOf(item), owner))
}

function replicaSetRevision(object: JsonObject): readonly Revision[] {
  const number = Number(annotationOf(objectOf(object), revisionAnnotation) || 0)
  if (!Number.isSafeInteger(number)) return []
  const changeCause = annotationOf(objectOf(object), changeCauseAnnotation) ?? ''
  const template = templateIn(object)
  return [{ number, changeCause, template, object }]
}

function controllerRevision(stored: JsonObject, workload: JsonObject): readonly Revision[] {
  const { revision, data } = stored
  if (!isObject(data)) return []
  const { $patch: _patch, ...template } = templateIn(data) as PodTemplateSpec & { readonly $patch?: string }
  const spec = isObject(workload['spec']) ? workload['spec'] : {}
  const object = { ...workload, spec: { ...spec, template: template as unknown as JsonObject } }
  const changeCause = annotationOf(objectOf(stored), changeCauseAnnotation) ?? ''
  return [{ number: Number(revision), changeCause, template, object, patch: data }]
}

/** The pod template of a workload. */
export function templateIn({ spec }: { readonly [key: string]: JsonValue }): PodTemplateSpec {
  const template = isObject(spec) ? spec['template'] : undefined
  return isObject(template) ? template : {}
}

/** With one revision for each number: the last one. */
function sorted(revisions: readonly Revision[]): readonly Revision[] {
  const byNumber = new Map(revisions.map(revision => [revision.number, revision]))
  return [...byNumber.values()].sort((a, b) => a.number - b.number)
}
