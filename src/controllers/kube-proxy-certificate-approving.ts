/**
 * Approves CertificateSigningRequests of nodes for the client certificate of their service proxy, which runs as a
 * process of its own with the rights of `system:node-proxier`. In a cluster whose proxies are pods every node has the
 * token of their service account instead. A cluster with other proxies switches the controller off. It never denies:
 * all other requests wait for a manual decision.
 */
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import { formatTime } from '#/api/text/time.ts'
import { approveRequest } from './certificates/approve-request.ts'
import { readCertificateRequest, type CertificateRequest } from './certificates/certificate-request.ts'
import { isApprovedOrDenied, isIssued } from './certificates/csr-conditions.ts'
import { apiServerClientSigner, validateProxyClientRequest } from './certificates/signers.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

export const kubeProxyCertificateApprovingController: Controller = {
  name: 'kube-proxy-certificate-approving-controller',
  account: 'kube-proxy-certificate-approver',
  setUp,
}

const message = 'Auto approving the client certificate of the service proxy of a node.'

function setUp({ platform, informer, enqueue }: ControllerContext): Reconcile {
  const requests = informer(certificateSigningRequests)
  requests.addEventHandler((key, { newObject }) => {
    if (newObject !== undefined && isOpen(newObject)) enqueue(key)
  })
  return async ({ key, client }) => {
    const request = requests.get(key)
    if (request === undefined || !isOpen(request)) return
    const wanted = await readCertificateRequest(request.spec.request)
    if (proxyRequestRefusal(request, wanted) !== undefined) return
    await approveRequest(request, message, { client, now: formatTime(platform.clock.now()) })
  }
}

/** The reason why a request needs a manual decision; undefined if it can be approved. */
export function proxyRequestRefusal(
  { spec }: CertificateSigningRequest,
  wanted: CertificateRequest | undefined,
): string | undefined {
  const { username = '', groups = [], usages = [] } = spec
  if (wanted === undefined) return 'the certificate request cannot be read'
  if (!username.startsWith('system:node:') || !groups.includes('system:nodes'))
    return `requester ${username} is not a node`
  return validateProxyClientRequest(wanted, usages)
}

function isOpen(request: CertificateSigningRequest): boolean {
  return (
    request.spec.signerName === apiServerClientSigner && !isApprovedOrDenied(request) && !isIssued(request)
  )
}
