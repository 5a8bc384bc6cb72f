/** The scale subresource: the `autoscaling/v1` Scale of a workload. */
import { managedFieldsFromScale, managedFieldsOfScale } from '#/api/apply.ts'
import { structDefinition } from '#/api/definitions.ts'
import { badRequest, notFound } from '#/api/errors.ts'
import type { Scale } from '#/api/generated/autoscaling/v1.ts'
import type { JsonValue } from '#/api/json-value.ts'
import type { KubernetesObject, ObjectMeta } from '#/api/metadata.ts'
import { apiVersionOf } from '#/api/resource.ts'
import { formatLabelSelector, type LabelSelector } from '#/api/selector.ts'
import { formatLabels } from '#/api/labels.ts'
import { keyOfCall, subjectOf, type Call } from '../handlers/call.ts'
import { bodyBytes, decodeBody } from '../handlers/decode-body.ts'
import { freshen } from '../handlers/list.ts'
import { applyTo, parseApplied } from '../handlers/patch.ts'
import { decodePatched, patchKindOf, readPatch } from '../handlers/read-patch.ts'
import { readWriteOptions, type WriteOptions } from '../handlers/write-options.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { encodeForStore, StoredObject } from '../registry/stored-object.ts'
import { updateObject, type Shown } from '../registry/update-object.ts'
import type { ApiResponse } from '../request.ts'
import type { VerbHandlers } from '../router.ts'
import { tableBody } from '../table.ts'
import { valueBody, View } from '../view.ts'
import { scaleColumns } from './scale-columns.ts'

export const scale: VerbHandlers = { get, update, patch }

const scaleKind = { group: 'autoscaling', version: 'v1', kind: 'Scale' }

interface Scalable extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number
    readonly selector?: LabelSelector | Readonly<Record<string, string>>
  }
  readonly status?: { readonly replicas?: number }
}

async function get(call: Call): Promise<ApiResponse> {
  const key = keyOfCall(call)
  await freshen(call, undefined)
  const stored = call.objects.get(key)
  if (stored === undefined) throw notFound(subjectOf(call))
  return answer(call, stored.object)
}

async function update(call: Call): Promise<ApiResponse> {
  const options = readWriteOptions(call, 'UpdateOptions')
  const schema = structDefinition('autoscaling.v1.Scale')
  const sent = (await decodeBody(call, {
    kind: scaleKind,
    schema,
    fieldValidation: options.fieldValidation,
  })) as Scale
  checkName(sent, call)
  const { stored } = await updateObject(call.registry, writeRequest(call, options), {
    change: before => withReplicas(before, sent),
    part: { merge: replicasOf },
    shown: shownAsScale(call),
  })
  return answer(call, stored.object)
}

async function patch(call: Call): Promise<ApiResponse> {
  const options = readWriteOptions(call, 'PatchOptions')
  const schema = structDefinition('autoscaling.v1.Scale')
  if (patchKindOf(call) === 'apply') return apply(call, options)
  const applyTo = await readPatch(call, schema, options)
  const { stored } = await updateObject(call.registry, writeRequest(call, options), {
    change: before => withReplicas(before, applyTo(scaleOf(call, before) as unknown as JsonValue) as Scale),
    part: { merge: replicasOf },
    shown: shownAsScale(call),
  })
  return answer(call, stored.object)
}

function readConfiguration(call: Call, bytes: Uint8Array, options: WriteOptions): KubernetesObject {
  const patch = parseApplied(bytes)
  return decodePatched(call, {
    patch,
    patched: patch,
    schema: structDefinition('autoscaling.v1.Scale'),
    options,
  })
}

/** Server-side apply: ownership of `spec.replicas` in the Scale is mapped to the scaled object. */
async function apply(call: Call, options: WriteOptions): Promise<ApiResponse> {
  const schema = structDefinition('autoscaling.v1.Scale')
  const applied = readConfiguration(call, await bodyBytes(call), options)
  const { resource } = call
  const replicasPaths = new Map([[apiVersionOf(resource), ['spec', 'replicas']]])
  const { stored } = await updateObject(call.registry, writeRequest(call, options), {
    change: before => {
      const managedFields = before.metadata?.managedFields as JsonValue | undefined
      const live = scaleOf(call, before)
      const scaleFields = managedFieldsOfScale(managedFields, replicasPaths)
      const known = {
        ...live,
        metadata: { ...live.metadata, ...(scaleFields && { managedFields: scaleFields }) },
      }
      const scale = applyTo(call, options, {
        live: known as Scale,
        applied,
        schema,
        apiVersion: 'autoscaling/v1',
      }) as Scale
      const owners = managedFieldsFromScale({
        managedFields,
        scaleManagedFields: scale.metadata?.managedFields as JsonValue | undefined,
        replicasPaths,
        apiVersion: apiVersionOf(resource),
      })
      const changed = withReplicas(before, scale)
      return {
        ...changed,
        metadata: { ...changed.metadata, managedFields: owners as ObjectMeta['managedFields'] },
      }
    },
    part: { merge: (before, sent) => withOwnersOf(replicasOf(before, sent), sent) },
    ownership: 'given',
    shown: shownAsScale(call),
  })
  return answer(call, stored.object)
}

function withOwnersOf(object: KubernetesObject, { metadata }: KubernetesObject): KubernetesObject {
  return { ...object, metadata: { ...object.metadata, managedFields: metadata?.managedFields } }
}

/** Copies only the replicas and the resourceVersion precondition from the Scale. */
function withReplicas(before: Scalable, { spec, metadata }: Scale): KubernetesObject {
  const replicas = spec?.replicas ?? 0
  const { resourceVersion: _, ...rest } = before.metadata ?? {}
  const resourceVersion = metadata?.resourceVersion
  const changed: Scalable = {
    ...before,
    metadata: { ...rest, ...(resourceVersion && { resourceVersion }) },
    spec: { ...before.spec, replicas },
  }
  return changed
}

function replicasOf(before: Scalable, sent: Scalable): KubernetesObject {
  const replicas = sent.spec?.replicas ?? 0
  const changed: Scalable = { ...before, spec: { ...before.spec, replicas } }
  return changed
}

/** Admission sees and changes the Scale instead of the workload. */
function shownAsScale(call: Call): Shown {
  return {
    of: object => scaleOf(call, object),
    into: (object, scale) => replicasOf(object, scale),
  }
}

function scaleOf({ resource }: Call, object: Scalable): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata ?? {}
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

function checkName({ metadata }: Scale, { info }: Call): void {
  if (metadata?.name !== info.name) {
    throw badRequest(
      `the name of the object (${metadata?.name ?? ''}) does not match the name on the URL (${info.name})`,
    )
  }
}

function answer(call: Call, object: KubernetesObject): ApiResponse {
  const { negotiated } = call.view
  const scale = scaleOf(call, object)
  if (negotiated.transform?.kind !== 'Table') return { status: 200, body: valueBody(scale, negotiated) }
  const resourceVersion = object.metadata?.resourceVersion ?? ''
  const row = new StoredObject('', Number(resourceVersion), encodeForStore(scale), scale)
  const view = new View({ ...call.resource, columns: scaleColumns }, negotiated)
  return { status: 200, body: tableBody(view, [row], { resourceVersion }, call) }
}
