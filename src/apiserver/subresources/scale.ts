/** The scale subresource: the `autoscaling/v1` Scale of a workload or custom resource. */
import { managedFieldsFromScale, managedFieldsOfScale } from '#/api/apply.ts'
import { structDefinition } from '#/api/definitions.ts'
import { badRequest, notFound } from '#/api/errors.ts'
import type { Scale } from '#/api/generated/autoscaling/v1.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { ScalePaths, SubresourceStrategy } from '#/api/kind-rules.ts'
import { jsonOf, objectOf, type KubernetesObject, type ObjectMeta } from '#/api/metadata.ts'
import { apiVersionOf, type Resource } from '#/api/resource.ts'
import { get as memberOf, isObject, withChanges, type JsonObject } from '#/api/text/json-object.ts'
import { formatLabelSelector, type LabelSelector } from '#/api/selectors/selector.ts'
import { formatLabels } from '#/api/labels.ts'
import { ageColumn, ageOf, nameColumn, nameOf } from '#/api/columns.ts'
import type { Column, KindColumns } from '#/api/table-columns.ts'
import { keyOfScope, subjectOf, type RequestScope } from '../handlers/request-scope.ts'
import { bodyBytes, decodeBody } from '../handlers/decode-body.ts'
import { waitUntilFresh } from '../handlers/wait-until-fresh.ts'
import { applyTo, parseApplied, reportDuplicates } from '../handlers/patch.ts'
import { decodePatched, patchKindOf, readPatch } from '../handlers/read-patch.ts'
import { readWriteOptions, type WriteOptions } from '../handlers/write-options.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { readObject } from '../registry/convert-objects.ts'
import { rulesOf } from '../registry/resource-strategy.ts'
import { encodeForStore, StoredObject } from '../registry/stored-object.ts'
import { updateObject, type AdmissionRepresentation } from '../registry/update-object.ts'
import type { ApiResponse } from '../request.ts'
import type { VerbHandlers } from '../router.ts'
import { Table } from '../table.ts'
import { valueBody, View } from '../view.ts'

export const scale: VerbHandlers = { get, update, patch }

const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }

async function get(scope: RequestScope): Promise<ApiResponse> {
  const key = keyOfScope(scope)
  await waitUntilFresh(scope, undefined)
  const stored = scope.registry.cache.get(key)
  if (stored === undefined) throw notFound(subjectOf(scope))
  return answer(scope, stored)
}

async function update(scope: RequestScope): Promise<ApiResponse> {
  const options = readWriteOptions(scope, 'UpdateOptions')
  const schema = structDefinition('autoscaling.v1.Scale')
  const sent = (await decodeBody(scope, {
    kind: scaleKind,
    schema,
    fieldValidation: options.fieldValidation,
  })) as Scale
  checkName(sent, scope)
  const { stored } = await updateObject(scope.registry, writeRequest(scope, options), {
    change: oldObject => withScale(scope.resource, oldObject, sent),
    strategy: { merge: mergeReplicas(scope.resource) },
    representation: scaleRepresentation(scope),
  })
  return answer(scope, stored)
}

async function patch(scope: RequestScope): Promise<ApiResponse> {
  const options = readWriteOptions(scope, 'PatchOptions')
  const schema = structDefinition('autoscaling.v1.Scale')
  if (patchKindOf(scope) === 'apply') return apply(scope, options)
  const applyTo = await readPatch(scope, schema, options)
  const { stored } = await updateObject(scope.registry, writeRequest(scope, options), {
    change: oldObject =>
      withScale(
        scope.resource,
        oldObject,
        applyTo(scaleOf(scope, oldObject) as unknown as JsonValue) as Scale,
      ),
    strategy: { merge: mergeReplicas(scope.resource) },
    representation: scaleRepresentation(scope),
  })
  return answer(scope, stored)
}

function readConfiguration(scope: RequestScope, bytes: Uint8Array, options: WriteOptions): KubernetesObject {
  const { sent: patch, duplicateKeys } = parseApplied(bytes)
  reportDuplicates(scope, duplicateKeys, options)
  return decodePatched(scope, {
    patch,
    patched: patch,
    schema: structDefinition('autoscaling.v1.Scale'),
    options,
  })
}

/** Server-side apply: ownership of `spec.replicas` in the Scale is mapped to the scaled object. */
async function apply(scope: RequestScope, options: WriteOptions): Promise<ApiResponse> {
  const schema = structDefinition('autoscaling.v1.Scale')
  const applied = readConfiguration(scope, await bodyBytes(scope), options)
  const { resource } = scope
  const replicasPaths = new Map([[apiVersionOf(resource), pathsOf(resource).specReplicas]])
  const request = writeRequest(scope, { ...options, fieldManager: undefined })
  const { stored } = await updateObject(scope.registry, request, {
    change: oldObject => {
      const managedFields = oldObject.metadata.managedFields as JsonValue | undefined
      const live = scaleOf(scope, oldObject)
      const scaleFields = managedFieldsOfScale(managedFields, replicasPaths)
      const known = {
        ...live,
        metadata: { ...live.metadata, ...(scaleFields && { managedFields: scaleFields }) },
      }
      const scale = applyTo(scope, options, {
        live: known as Scale,
        applied,
        schema,
        apiVersion: 'autoscaling/v1',
      }) as Scale
      const owners = managedFieldsFromScale({
        managedFields,
        scaleManagedFields: scale.metadata.managedFields as JsonValue | undefined,
        replicasPaths,
        apiVersion: apiVersionOf(resource),
      })
      const changed = withScale(resource, oldObject, scale)
      return {
        ...changed,
        metadata: { ...changed.metadata, managedFields: owners as ObjectMeta['managedFields'] },
      }
    },
    strategy: {
      merge: (oldObject, sent, now) => withOwnersOf(mergeReplicas(resource)(oldObject, sent, now), sent),
    },
    representation: scaleRepresentation(scope),
  })
  return answer(scope, stored)
}

function withOwnersOf(object: KubernetesObject, { metadata }: KubernetesObject): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, managedFields: metadata.managedFields } }
}

/** Copies only the replicas, and the resourceVersion as precondition if it is set, from the Scale. */
function withScale(resource: Resource, oldObject: KubernetesObject, sent: Scale): KubernetesObject {
  const { resourceVersion } = sent.metadata
  // Without a precondition the update is one of the current version, whatever the kind requires of updates.
  const metadata = { ...oldObject.metadata, ...(resourceVersion && { resourceVersion }) }
  return withReplicas(resource, { ...oldObject, metadata }, sent.spec?.replicas ?? 0)
}

function withReplicas(resource: Resource, object: KubernetesObject, replicas: number): KubernetesObject {
  return objectOf(withValueAt(jsonOf(object), pathsOf(resource).specReplicas, replicas) as JsonObject)
}

/** The strategy of the subresource: only the replicas of the sent object count. */
function mergeReplicas(resource: Resource): SubresourceStrategy['merge'] {
  const { specReplicas } = pathsOf(resource)
  return (oldObject, sent) => withReplicas(resource, oldObject, numberAt(sent, specReplicas) ?? 0)
}

const workloadPaths: ScalePaths = {
  specReplicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
}

function pathsOf(resource: Resource): ScalePaths {
  return rulesOf(resource).scale ?? workloadPaths
}

function valueAt(object: KubernetesObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = jsonOf(object)
  for (const name of path) value = isObject(value) ? memberOf(value, name) : undefined
  return value
}

function numberAt(object: KubernetesObject, path: readonly string[]): number | undefined {
  const value = valueAt(object, path)
  return typeof value === 'number' ? value : undefined
}

function withValueAt(value: JsonValue | undefined, path: readonly string[], leaf: JsonValue): JsonValue {
  const [name, ...rest] = path
  if (name === undefined) return leaf
  const object = isObject(value) ? value : {}
  return withChanges(object, new Map([[name, withValueAt(memberOf(object, name), rest, leaf)]]))
}

/** Admission sees and changes the Scale instead of the workload. */
function scaleRepresentation(scope: RequestScope): AdmissionRepresentation {
  return {
    of: object => scaleOf(scope, object),
    into: (object, scale) => withReplicas(scope.resource, object, (scale as Scale).spec?.replicas ?? 0),
  }
}

function scaleOf({ resource }: RequestScope, object: KubernetesObject): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const { specReplicas, statusReplicas } = pathsOf(resource)
  const replicas = numberAt(object, specReplicas)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { ...(replicas && { replicas }) },
    status: { replicas: numberAt(object, statusReplicas) ?? 0, ...selectorText(resource, object) },
  }
}

function selectorText(resource: Resource, object: KubernetesObject): { readonly selector?: string } {
  const { labelSelector } = pathsOf(resource)
  if (rulesOf(resource).scale) {
    const text = labelSelector && valueAt(object, labelSelector)
    return typeof text === 'string' ? { selector: text } : {}
  }
  const selector = valueAt(object, ['spec', 'selector'])
  if (selector === undefined) return {}
  const isPlain = resource.kind === 'ReplicationController'
  return {
    selector: isPlain
      ? formatLabels(selector as Readonly<Record<string, string>>)
      : formatLabelSelector(selector as LabelSelector),
  }
}

function checkName({ metadata }: Scale, { info }: RequestScope): void {
  if (metadata.name !== info.name) {
    throw badRequest(
      `the name of the object (${metadata.name ?? ''}) does not match the name on the URL (${info.name})`,
    )
  }
}

async function answer(scope: RequestScope, stored: StoredObject): Promise<ApiResponse> {
  const { negotiated } = scope.view
  const { object } = await readObject(scope.resource, stored)
  const scale = scaleOf(scope, object)
  if (negotiated.transform?.kind !== 'Table') return { status: 200, body: valueBody(scale, negotiated) }
  const resourceVersion = object.metadata.resourceVersion
  const row = new StoredObject(
    { key: '', revision: Number(resourceVersion), value: encodeForStore(scale) },
    scale,
  )
  const view = new View({ ...scope.resource, columns: scaleColumns }, negotiated)
  return { status: 200, body: new Table(view, scope).body({ objects: [row], meta: { resourceVersion } }) }
}

/** Table columns of `kubectl get --subresource=scale`. */
const scaleColumns: KindColumns<Scale> = {
  columns: [
    nameColumn,
    countColumn('Desired', 'How many pods there should be.'),
    countColumn('Available', 'How many pods there are.'),
    ageColumn,
  ],
  cells: scale => [nameOf(scale), scale.spec?.replicas ?? 0, scale.status?.replicas ?? 0, ageOf(scale)],
}

function countColumn(name: string, description: string): Column {
  return { name, type: 'integer', format: '', description, priority: 0 }
}
