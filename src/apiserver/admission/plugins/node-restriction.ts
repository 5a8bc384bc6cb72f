/**
 * Limits a kubelet's writes to its own Node and to objects of the pods on it, so that a compromised node
 * cannot take over the cluster. Reads are limited by the node authorizer.
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction
 */
import { qualifiedResourceName } from '#/api/resource.ts'
import type { PersistentVolumeClaim, PersistentVolumeClaimStatus } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { UserInfo } from '../../request.ts'
import {
  admissionForbidden,
  type AdmissionPlugin,
  type AdmissionAttributes,
  type AdmissionTarget,
} from '../admission-chain.ts'
import { checkCertificateRequest, checkPodCertificateRequest } from './node-restriction/certificates.ts'
import { checkNode } from './node-restriction/node.ts'
import { checkCsiNode, checkLease, checkResourceSlice } from './node-restriction/own-objects.ts'
import { checkEviction, checkPod, checkPodStatus } from './node-restriction/pods.ts'
import { checkToken } from './node-restriction/tokens.ts'
import type { PluginContext } from '../plugin-context.ts'

export function nodeRestriction(context: PluginContext): AdmissionPlugin {
  const check = (request: AdmissionAttributes): void | Promise<void> => {
    const nodeName = nodeNameOf(request.user)
    if (nodeName === undefined) return
    if (nodeName === '')
      throw admissionForbidden(request, `could not determine node from user "${request.user.username}"`)
    return checkOf(request)?.(request, nodeName, context)
  }
  return {
    name: 'NodeRestriction',
    handles: target => target.operation !== 'CONNECT' && checkOf(target) !== undefined,
    // Checked in the mutating phase, before other plugins change the object: the node is not responsible for
    // their changes.
    mutate(request) {
      if (request.operation === 'DELETE') return request.object
      const checked = check(request)
      return checked ? checked.then(() => request.object) : request.object
    },
    validate: request => (request.operation === 'DELETE' ? check(request) : undefined),
  }
}

/** Throws ApiError to reject the request. */
type NodeCheck = (
  request: AdmissionAttributes,
  nodeName: string,
  context: PluginContext,
) => void | Promise<void>

const prefix = 'system:node:'

/** Undefined if the user is not a node; empty if the node name is missing. */
function nodeNameOf({ username, groups }: UserInfo): string | undefined {
  return username.startsWith(prefix) && groups.includes('system:nodes')
    ? username.slice(prefix.length)
    : undefined
}

function checkOf({ resource, subresource }: AdmissionTarget): NodeCheck | undefined {
  const name = qualifiedResourceName(resource)
  return name === 'pods' ? (podChecks[subresource] ?? otherPodPart) : checks[name]
}

const podChecks: Readonly<Record<string, NodeCheck>> = {
  '': checkPod,
  'status': checkPodStatus,
  'eviction': checkEviction,
}

const otherPodPart: NodeCheck = request => {
  throw admissionForbidden(
    request,
    `unexpected pod subresource "${request.subresource}", only 'status' and 'eviction' are allowed`,
  )
}

const checks: Readonly<Record<string, NodeCheck>> = {
  'nodes': checkNode,
  'persistentvolumeclaims': checkClaim,
  'serviceaccounts': checkToken,
  'leases.coordination.k8s.io': checkLease,
  'csinodes.storage.k8s.io': checkCsiNode,
  'resourceslices.resource.k8s.io': checkResourceSlice,
  'certificatesigningrequests.certificates.k8s.io': checkCertificateRequest,
  'podcertificaterequests.certificates.k8s.io': checkPodCertificateRequest,
}

/** Only the status fields of volume expansion may change. */
function checkClaim(request: AdmissionAttributes, nodeName: string): void {
  const { operation, subresource, object, oldObject } = request
  if (subresource !== 'status') throw admissionForbidden(request, 'may only update PVC status')
  if (operation !== 'UPDATE') throw admissionForbidden(request, `unexpected operation "${operation}"`)
  if (equalJson(fixedParts(object as PersistentVolumeClaim), fixedParts(oldObject as PersistentVolumeClaim)))
    return
  throw admissionForbidden(
    request,
    `node "${nodeName}" is not allowed to update fields other than status.quantity and status.conditions`,
  )
}

function fixedParts({ metadata, status = {}, ...rest }: PersistentVolumeClaim): object {
  const { resourceVersion: _version, managedFields: _fields, ...kept } = metadata
  return { ...rest, metadata: kept, status: fixedStatus(status) }
}

function fixedStatus(status: PersistentVolumeClaimStatus): object {
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _allocated,
    allocatedResourceStatuses: _statuses,
    ...kept
  } = status
  return kept
}
