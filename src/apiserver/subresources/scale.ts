/** The scale subresource: the `autoscaling/v1` Scale of a workload. */
import { managedFieldsFromScale, managedFieldsOfScale } from '#/api/apply.ts'
import { structDefinition } from '#/api/definitions.ts'
import { badRequest, notFound } from '#/api/errors.ts'
import type { Scale } from '#/api/generated/autoscaling/v1.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { KubernetesObject, ObjectMeta, Stored } from '#/api/metadata.ts'
import { apiVersionOf } from '#/api/resource.ts'
import { formatLabelSelector, type LabelSelector } from '#/api/selectors/selector.ts'
import { formatLabels } from '#/api/labels.ts'
import { ageColumn, ageOf, nameColumn, nameOf } from '#/api/columns.ts'
import type { Column, KindColumns } from '#/api/table-columns.ts'
import { keyOfScope, subjectOf, type RequestScope } from '../handlers/request-scope.ts'
import { bodyBytes, decodeBody } from '../handlers/decode-body.ts'
import { waitUntilFresh } from '../handlers/wait-until-fresh.ts'
import { applyTo, parseApplied } from '../handlers/patch.ts'
import { decodePatched, patchKindOf, readPatch } from '../handlers/read-patch.ts'
import { readWriteOptions, type WriteOptions } from '../handlers/write-options.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { encodeForStore, StoredObject } from '../registry/stored-object.ts'
import { updateObject, type AdmissionRepresentation } from '../registry/update-object.ts'
import type { ApiResponse } from '../request.ts'
import type { VerbHandlers } from '../router.ts'
import { tableBody } from '../table.ts'
import { valueBody, View } from '../view.ts'

export const scale: VerbHandlers = { get, update, patch }

const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }

interface Scalable extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number
    readonly selector?: LabelSelector | Readonly<Record<string, string>>
  }
  readonly status?: { readonly replicas?: number }
}

async function get(scope: RequestScope): Promise<ApiResponse> {
  const key = keyOfScope(scope)
  await waitUntilFresh(scope, undefined)
  const stored = scope.registry.cache.get(key)
  if (stored === undefined) throw notFound(subjectOf(scope))
  return answer(scope, stored.object)
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
    change: oldObject => withReplicas(oldObject, sent),
    strategy: { merge: replicasOf },
    representation: scaleRepresentation(scope),
  })
  return answer(scope, stored.object)
}

async function patch(scope: RequestScope): Promise<ApiResponse> {
  const options = readWriteOptions(scope, 'PatchOptions')
  const schema = structDefinition('autoscaling.v1.Scale')
  if (patchKindOf(scope) === 'apply') return apply(scope, options)
  const applyTo = await readPatch(scope, schema, options)
  const { stored } = await updateObject(scope.registry, writeRequest(scope, options), {
    change: oldObject =>
      withReplicas(oldObject, applyTo(scaleOf(scope, oldObject) as unknown as JsonValue) as Scale),
    strategy: { merge: replicasOf },
    representation: scaleRepresentation(scope),
  })
  return answer(scope, stored.object)
}

function readConfiguration(scope: RequestScope, bytes: Uint8Array, options: WriteOptions): KubernetesObject {
  const patch = parseApplied(bytes)
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
  const replicasPaths = new Map([[apiVersionOf(resource), ['spec', 'replicas']]])
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
      const changed = withReplicas(oldObject, scale)
      return {
        ...changed,
        metadata: { ...changed.metadata, managedFields: owners as ObjectMeta['managedFields'] },
      }
    },
    strategy: { merge: (oldObject, sent) => withOwnersOf(replicasOf(oldObject, sent), sent) },
    representation: scaleRepresentation(scope),
  })
  return answer(scope, stored.object)
}

function withOwnersOf(object: KubernetesObject, { metadata }: KubernetesObject): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, managedFields: metadata.managedFields } }
}

/** Copies only the replicas and the resourceVersion precondition from the Scale. */
function withReplicas(oldObject: Scalable, { spec, metadata }: Scale): KubernetesObject {
  const replicas = spec?.replicas ?? 0
  const { resourceVersion: _, ...rest } = oldObject.metadata
  const resourceVersion = metadata.resourceVersion
  const changed: Scalable = {
    ...oldObject,
    metadata: { ...rest, ...(resourceVersion && { resourceVersion }) },
    spec: { ...oldObject.spec, replicas },
  }
  return changed
}

function replicasOf(oldObject: Scalable, sent: Scalable): KubernetesObject {
  const replicas = sent.spec?.replicas ?? 0
  const changed: Scalable = { ...oldObject, spec: { ...oldObject.spec, replicas } }
  return changed
}

/** Admission sees and changes the Scale instead of the workload. */
function scaleRepresentation(scope: RequestScope): AdmissionRepresentation {
  return {
    of: object => scaleOf(scope, object),
    into: (object, scale) => replicasOf(object, scale),
  }
}

function scaleOf({ resource }: RequestScope, object: Scalable): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const replicas = object.spec?.replicas
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { ...(replicas && { replicas }) },
    status: { replicas: object.status?.replicas ?? 0, ...selectorText(resource.kind, object) },
  }
}

function selectorText(kind: string, { spec }: Scalable): { readonly selector?: string } {
  const selector = spec?.selector
  if (selector === undefined) return {}
  const text =
    kind === 'ReplicationController'
      ? formatLabels(selector as Readonly<Record<string, string>>)
      : formatLabelSelector(selector)
  return { selector: text }
}

function checkName({ metadata }: Scale, { info }: RequestScope): void {
  if (metadata.name !== info.name) {
    throw badRequest(
      `the name of the object (${metadata.name ?? ''}) does not match the name on the URL (${info.name})`,
    )
  }
}

function answer(scope: RequestScope, object: Stored): ApiResponse {
  const { negotiated } = scope.view
  const scale = scaleOf(scope, object)
  if (negotiated.transform?.kind !== 'Table') return { status: 200, body: valueBody(scale, negotiated) }
  const resourceVersion = object.metadata.resourceVersion
  const row = new StoredObject(
    { key: '', revision: Number(resourceVersion), value: encodeForStore(scale) },
    scale,
  )
  const view = new View({ ...scope.resource, columns: scaleColumns }, negotiated)
  return { status: 200, body: tableBody(view, { objects: [row], meta: { resourceVersion } }, scope) }
}

/** Table columns of `kubectl get --subresource=scale`. */
const scaleColumns: KindColumns<Scale> = {
  columns: [
    nameColumn,
    countColumn('Desired', 'How many pods there should be.'),
    countColumn('Available', 'How many pods there are.'),
    ageColumn,
  ],
  cells: (scale, nowMs) => [
    nameOf(scale),
    scale.spec?.replicas ?? 0,
    scale.status?.replicas ?? 0,
    ageOf(scale, nowMs),
  ],
}

function countColumn(name: string, description: string): Column {
  return { name, type: 'integer', format: '', description, priority: 0 }
}
