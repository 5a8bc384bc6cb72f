/** The binding subresource: assigns a pod to a node, only once, and not while the pod is being deleted. */
import { structDefinition } from '#/api/definitions.ts'
import { badRequest, conflict, unknownError } from '#/api/errors.ts'
import { formatFieldErrors, notSupported, required, type FieldError } from '#/api/field-error.ts'
import type { Binding, Pod, PodCondition } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { noAdmission } from '../admission/admission-chain.ts'
import type { RequestScope } from '../handlers/request-scope.ts'
import { decodeBody } from '../handlers/decode-body.ts'
import { readWriteOptions } from '../handlers/write-options.ts'
import { writeRequest } from '../handlers/write-request.ts'
import { keyOf } from '../registry/store-keys.ts'
import { updateObject } from '../registry/update-object.ts'
import { admitConnectOrCreate } from '../registry/admit.ts'
import type { ApiResponse } from '../request.ts'
import { valueBody } from '../view.ts'

export const binding = { create }

const bindingKind = { group: '', version: 'v1', kind: 'Binding' }

async function create(scope: RequestScope): Promise<ApiResponse> {
  const { registry, info } = scope
  const options = readWriteOptions(scope, 'CreateOptions')
  const schema = structDefinition('core.v1.Binding')
  const sent = (await decodeBody(scope, {
    kind: bindingKind,
    schema,
    fieldValidation: options.fieldValidation,
  })) as Binding
  const name = sent.metadata.name ?? ''
  if (info.name !== '' && info.name !== name)
    throw badRequest('name in URL does not match name in Binding object')
  const { namespace = info.namespace } = sent.metadata
  if (namespace !== '' && namespace !== info.namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
  validateBinding(sent)
  if (name === '') throw badRequest('Name parameter required.')
  const admitted = (await admitConnectOrCreate(
    registry,
    { ...writeRequest(scope, options), name, operation: 'CREATE' },
    sent,
  )) as Binding
  const resource = registry.scheme.byResource({ group: '', version: 'v1', resource: pods.plural })!
  const target = { ...writeRequest(scope, options), resource, name, subresource: 'binding' }
  const now = formatTime(registry.platform.clock.now())
  // Admission runs on the Binding; the pod update bypasses it.
  await updateObject({ ...registry, admission: noAdmission }, target, {
    change: oldObject => oldObject,
    strategy: { merge: oldObject => bind(oldObject as Stored<Pod>, admitted, now), validate: () => [] },
    keepsGeneration: true,
  })
  return { status: 201, body: valueBody(success, scope.view.negotiated) }
}

const success = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }

function bind(pod: Stored<Pod>, { target, metadata }: Binding, now: string): KubernetesObject {
  const subject = { group: '', kind: 'pods/binding', name: pod.metadata.name }
  if (metadata.uid && metadata.uid !== pod.metadata.uid) {
    const { namespace = '', name } = pod.metadata
    const failed = `UID in precondition: ${metadata.uid}, UID in object meta: ${pod.metadata.uid}`
    throw conflict(
      { group: '', kind: 'pods', name },
      `StorageError: invalid object, Code: 4, Key: ${keyOf(pods, namespace, name)}, ResourceVersion: 0, ` +
        `AdditionalErrorMsg: Precondition failed: ${failed}`,
    )
  }
  if (pod.metadata.deletionTimestamp !== undefined) {
    throw conflict(subject, `pod ${subject.name} is being deleted, cannot be assigned to a host`)
  }
  if (pod.spec?.nodeName)
    throw conflict(subject, `pod ${subject.name} is already assigned to node "${pod.spec.nodeName}"`)
  if (pod.spec?.schedulingGates?.length)
    throw conflict(subject, `pod ${subject.name} has non-empty .spec.schedulingGates`)
  // Clears nominatedNodeName, because the pod has a node now.
  const { nominatedNodeName: _nominated, ...status } = pod.status ?? {}
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(metadata.labels && { labels: { ...pod.metadata.labels, ...metadata.labels } }),
      ...(metadata.annotations && { annotations: { ...pod.metadata.annotations, ...metadata.annotations } }),
    },
    spec: { ...pod.spec, nodeName: target.name },
    status: { ...status, conditions: withScheduled(pod.status?.conditions ?? [], now) },
  } as Pod
}

function withScheduled(conditions: readonly PodCondition[], now: string): readonly PodCondition[] {
  const others = conditions.filter(condition => condition.type !== 'PodScheduled')
  return [...others, { type: 'PodScheduled', status: 'True', lastTransitionTime: now }]
}

/** Throws an error without a reason, as Kubernetes does. */
function validateBinding({ target }: Binding): void {
  const errors: FieldError[] = []
  const kind = target?.kind ?? ''
  if (kind !== '' && kind !== 'Node') errors.push(notSupported('target.kind', kind, ['Node', '<empty>']))
  if (!target?.name) errors.push(required('target.name', ''))
  if (errors.length > 0) throw unknownError(formatFieldErrors(errors))
}
