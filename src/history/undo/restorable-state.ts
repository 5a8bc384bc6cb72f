import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'

/** The part of an object that `undo` restores: without status and metadata that the server or controllers set. */
export function restorableState(object: JsonObject): JsonObject {
  const { status: _status, metadata, ...rest } = object
  const { name, namespace, labels, annotations } = isObject(metadata) ? metadata : {}
  const kept = isObject(annotations) ? withoutControllerAnnotations(annotations) : {}
  return {
    ...rest,
    metadata: {
      ...(name !== undefined && { name }),
      ...(namespace !== undefined && { namespace }),
      ...(isObject(labels) && Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(kept).length > 0 && { annotations: kept }),
    },
  }
}

const controllerAnnotation =
  /^(?:deployment|pv|volume|volume\.beta|control-plane\.alpha|autoscaling\.alpha)\.kubernetes\.io\//

function withoutControllerAnnotations(annotations: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => !controllerAnnotation.test(name)))
}

export interface RecreatedState {
  readonly object: JsonObject
  /** What is not restored, for the user. */
  readonly notes: readonly string[]
}

/** The object as it can be created again. */
export function recreatedState(target: JsonObject, liveOwners: ReadonlySet<string>): RecreatedState {
  const state = restorableState(target)
  const metadata = isObject(target['metadata']) ? target['metadata'] : {}
  const owners = listOf(metadata['ownerReferences']).filter(isObject)
  const kept = owners.filter(({ uid }) => typeof uid === 'string' && liveOwners.has(uid))
  const finalizers = listOf(metadata['finalizers']).filter(each => !deletionFinalizers.has(each))
  const notes = owners
    .filter(owner => !kept.includes(owner))
    .map(
      ({ kind, name }) => `its owner ${text(kind)} ${text(name)} no longer exists: the reference is left out`,
    )
  const restoredMetadata = {
    ...(isObject(state['metadata']) && state['metadata']),
    ...(kept.length > 0 && { ownerReferences: kept }),
    ...(finalizers.length > 0 && { finalizers }),
  }
  const adapt = adaptations.get(`${text(target['apiVersion'])}/${text(target['kind'])}`)
  const object = { ...state, metadata: restoredMetadata }
  const spec = isObject(state['spec']) ? state['spec'] : undefined
  if (adapt === undefined || spec === undefined) return { object, notes }
  const adapted = adapt(spec)
  return { object: { ...object, spec: adapted.spec }, notes: [...notes, ...adapted.notes] }
}

/** Set by the deletion itself. */
const deletionFinalizers: ReadonlySet<JsonValue> = new Set<JsonValue>(['foregroundDeletion', 'orphan'])

interface AdaptedSpec {
  readonly spec: JsonObject
  readonly notes: readonly string[]
}

/** By kind: fields that the server has set for the former object and denies or misinterprets in a new one. */
const adaptations: ReadonlyMap<string, (spec: JsonObject) => AdaptedSpec> = new Map([
  [
    'v1/Pod',
    ({ nodeName, ephemeralContainers: _containers, ...spec }) => ({
      spec,
      notes: nodeName === undefined ? [] : [`it is scheduled again; it was on node ${text(nodeName)}`],
    }),
  ],
  [
    'v1/PersistentVolumeClaim',
    ({ volumeName, ...spec }) => ({
      spec,
      notes:
        volumeName === undefined ? [] : [`it is bound again; its data was in volume ${text(volumeName)}`],
    }),
  ],
  [
    'v1/Namespace',
    spec => ({ spec, notes: ['only the namespace is created, not the objects that were in it'] }),
  ],
  ['batch/v1/Job', spec => ({ spec: withoutGeneratedSelector(spec), notes: ['its pods run again'] })],
])

/** The selector of a Job is generated from its uid. */
function withoutGeneratedSelector(spec: JsonObject): JsonObject {
  if (spec['manualSelector'] === true) return spec
  const { selector: _selector, ...rest } = spec
  const template = isObject(spec['template']) ? spec['template'] : {}
  const metadata = isObject(template['metadata']) ? template['metadata'] : {}
  const labels = isObject(metadata['labels']) ? metadata['labels'] : {}
  const kept = Object.entries(labels).filter(
    ([name]) => !/^(?:batch\.kubernetes\.io\/)?(?:controller-uid|job-name)$/.test(name),
  )
  return { ...rest, template: { ...template, metadata: { ...metadata, labels: Object.fromEntries(kept) } } }
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
