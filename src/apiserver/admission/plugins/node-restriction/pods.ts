/**
 * Checks a kubelet's writes to pods: it may create mirror pods, update the status of its pods, and delete or
 * evict them.
 */
import { notFound } from '#/api/errors.ts'
import type { Eviction } from '#/api/generated/policy/v1.ts'
import type { Pod, PodStatus } from '#/api/generated/core/v1.ts'
import { nodes, pods } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { admissionForbidden, type AdmissionAttributes } from '../../admission-chain.ts'
import { getCached } from '../../lookup.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { apiReferenceOf } from '../pod-references.ts'
import { isMirror, mirrorAnnotation } from '../pod-spec.ts'

export function checkPod(request: AdmissionAttributes, nodeName: string, context: PluginContext): void {
  const { operation } = request
  if (operation === 'CREATE') {
    checkMirror(request, nodeName)
    checkOwner(request, nodeName, context)
    const reference = apiReferenceOf(request.object as Pod)
    if (reference !== undefined) {
      throw admissionForbidden(request, `node "${nodeName}" can not create pods that reference ${reference}`)
    }
  } else if (operation === 'DELETE') {
    if ((request.oldObject as Pod).spec?.nodeName === nodeName) return
    throw admissionForbidden(
      request,
      `node "${nodeName}" can only delete pods with spec.nodeName set to itself`,
    )
  } else {
    throw admissionForbidden(
      request,
      `unexpected operation "${operation}", node "${nodeName}" can only create and delete mirror pods`,
    )
  }
}

function checkMirror(request: AdmissionAttributes, nodeName: string): void {
  const pod = request.object as Pod
  if (!isMirror(pod)) {
    throw admissionForbidden(
      request,
      `pod does not have "${mirrorAnnotation}" annotation, node "${nodeName}" can only create mirror pods`,
    )
  }
  if (pod.spec?.nodeName === nodeName) return
  throw admissionForbidden(
    request,
    `node "${nodeName}" can only create pods with spec.nodeName set to itself`,
  )
}

/**
 * The controller owner reference must have the UID of the current Node, so that mirror pods of a replaced
 * Node are garbage collected.
 */
function checkOwner(request: AdmissionAttributes, nodeName: string, context: PluginContext): void {
  const owners = request.object?.metadata.ownerReferences ?? []
  const [owner] = owners
  if (owners.length > 1) {
    throw admissionForbidden(
      request,
      `node "${nodeName}" can only create pods with a single owner reference set to itself`,
    )
  }
  if (owner?.apiVersion !== 'v1' || owner.kind !== 'Node' || owner.name !== nodeName) {
    throw admissionForbidden(
      request,
      `node "${nodeName}" can only create pods with an owner reference set to itself`,
    )
  }
  if (owner.controller !== true) {
    throw admissionForbidden(
      request,
      `node "${nodeName}" can only create pods with a controller owner reference set to itself`,
    )
  }
  if (owner.blockOwnerDeletion === true) {
    throw admissionForbidden(
      request,
      `node "${nodeName}" must not set blockOwnerDeletion on an owner reference`,
    )
  }
  const node = getCached(context, nodes, { name: nodeName })
  if (node === undefined) throw notFound({ group: '', kind: 'nodes', name: nodeName })
  if (owner.uid === node.metadata.uid) return
  throw admissionForbidden(
    request,
    `node ${nodeName} UID mismatch: expected ${owner.uid} got ${node.metadata.uid}`,
  )
}

export function checkPodStatus(request: AdmissionAttributes, nodeName: string): void {
  if (request.operation !== 'UPDATE')
    throw admissionForbidden(request, `unexpected operation "${request.operation}"`)
  const pod = request.object as Pod
  const oldObject = request.oldObject as Pod
  if (oldObject.spec?.nodeName !== nodeName) {
    throw admissionForbidden(
      request,
      `node "${nodeName}" can only update pod status for pods with spec.nodeName set to itself`,
    )
  }
  if (!equalJson(pod.metadata.labels ?? {}, oldObject.metadata.labels ?? {})) {
    throw admissionForbidden(request, `node "${nodeName}" cannot update labels through pod status`)
  }
  if (!equalJson(claimsOf(pod.status), claimsOf(oldObject.status))) {
    throw admissionForbidden(request, `node "${nodeName}" cannot update resource claim statues`)
  }
  if (!equalJson(pod.status?.extendedResourceClaimStatus, oldObject.status?.extendedResourceClaimStatus)) {
    throw admissionForbidden(request, `node "${nodeName}" cannot update extended resource claim status`)
  }
}

function claimsOf(status: PodStatus | undefined): readonly unknown[] {
  return status?.resourceClaimStatuses ?? []
}

export function checkEviction(request: AdmissionAttributes, nodeName: string, context: PluginContext): void {
  const { operation, namespace, object } = request
  if (operation !== 'CREATE') throw admissionForbidden(request, `unexpected operation ${operation}`)
  const name = request.name || (object as Eviction).metadata.name
  if (!name) throw admissionForbidden(request, 'could not determine pod from request data')
  const pod = getCached(context, pods, { name, namespace })
  if (pod === undefined) throw notFound({ group: '', kind: 'pods', name })
  if (pod.spec?.nodeName !== nodeName) {
    throw admissionForbidden(request, `node ${nodeName} can only evict pods with spec.nodeName set to itself`)
  }
}
