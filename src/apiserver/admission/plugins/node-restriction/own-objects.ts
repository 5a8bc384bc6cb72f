/** Checks objects that belong to a single node: Lease, CSINode and ResourceSlice. */
import type { ResourceSlice } from '#/api/generated/resource/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { admissionForbidden, type AdmissionAttributes } from '../../admission-chain.ts'

const leaseNamespace = 'kube-node-lease'

export function checkLease(request: AdmissionAttributes, nodeName: string): void {
  if (request.namespace !== leaseNamespace) {
    throw admissionForbidden(request, `can only access leases in the "${leaseNamespace}" system namespace`)
  }
  if (nameOf(request) === nodeName) return
  throw admissionForbidden(request, 'can only access node lease with the same name as the requesting node')
}

export function checkCsiNode(request: AdmissionAttributes, nodeName: string): void {
  if (nameOf(request) === nodeName) return
  throw admissionForbidden(request, 'can only access CSINode with the same name as the requesting node')
}

/** A CREATE request is checked by the name in the object. */
function nameOf({ operation, object, name }: AdmissionAttributes): string | undefined {
  return operation === 'CREATE' ? object?.metadata.name : name
}

/**
 * Updates need no check: a slice's nodeName is immutable, and the authorizer restricts nodes to their own
 * slices.
 */
export function checkResourceSlice(request: AdmissionAttributes, nodeName: string): void {
  const { operation, object, oldObject } = request
  if (operation === 'CREATE' && sliceNode(object) !== nodeName) {
    throw admissionForbidden(
      request,
      'can only create ResourceSlice with the same NodeName as the requesting node',
    )
  }
  if (operation === 'DELETE' && sliceNode(oldObject) !== nodeName) {
    throw admissionForbidden(
      request,
      'can only delete ResourceSlice with the same NodeName as the requesting node',
    )
  }
}

function sliceNode(object: KubernetesObject | undefined): string | undefined {
  return (object as Partial<ResourceSlice> | undefined)?.spec?.nodeName
}
