/** Approves a CertificateSigningRequest on behalf of a controller. */
import { isApiError } from '#/api/errors.ts'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'

interface Approval {
  readonly client: Client
  readonly now: string
}

/** Does nothing if the request has been deleted. */
export async function approveRequest(
  request: Stored<CertificateSigningRequest>,
  message: string,
  { client, now }: Approval,
): Promise<void> {
  const condition = {
    type: 'Approved',
    status: 'True',
    reason: 'AutoApproved',
    message,
    lastUpdateTime: now,
    lastTransitionTime: now,
  }
  const conditions = [...(request.status?.conditions ?? []), condition]
  const approved = { ...request, status: { ...request.status, conditions } }
  const at = { name: request.metadata.name, subresource: 'approval' }
  try {
    await client.updateSubresource(certificateSigningRequests, at, approved)
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}
