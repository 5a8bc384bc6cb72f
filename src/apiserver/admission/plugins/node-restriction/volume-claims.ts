/**
 * Checks a kubelet's writes to PersistentVolumeClaims: only the status fields of volume expansion may change.
 */
import type { PersistentVolumeClaim, PersistentVolumeClaimStatus } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { admissionForbidden, type AdmissionAttributes } from '../../admission-chain.ts'

export function checkClaim(request: AdmissionAttributes, nodeName: string): void {
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
