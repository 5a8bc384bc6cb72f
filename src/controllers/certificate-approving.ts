/**
 * Approves CertificateSigningRequests of kubelets for client certificates: the first one, requested with a
 * bootstrap token, and renewals, requested by the kubelet itself. Permission is checked with a
 * SubjectAccessReview. All other requests need manual approval.
 * https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/#approval
 */
import { backoffMs } from '#/base/backoff.ts'
import { subjectAccessReviews } from '#/api/generated/authorization/v1-resources.ts'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import { formatTime } from '#/api/text/time.ts'
import { approveRequest } from './certificates/approve-request.ts'
import { readCertificateRequest } from './certificates/certificate-request.ts'
import { isApprovedOrDenied, isIssued } from './certificates/csr-conditions.ts'
import { kubeletClientSigner, validateKubeletClientRequest } from './certificates/signers.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'

export const certificateApprovingController: Controller = {
  name: 'certificatesigningrequest-approving-controller',
  queueName: 'certificate',
  account: 'certificate-controller',
  setUp,
}

const askAgain = { initialMs: 200, maxMs: 1_000_000, factor: 2, jitter: 0 }

/** The subresource that the requester must be allowed to create, and the message of the approval. */
interface Permission {
  readonly subresource: 'selfnodeclient' | 'nodeclient'
  readonly message: string
}

const renewal: Permission = {
  subresource: 'selfnodeclient',
  message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
}

const bootstrap: Permission = {
  subresource: 'nodeclient',
  message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
}

function setUp({ platform, informer, enqueue }: ControllerContext): Reconcile {
  const requests = informer(certificateSigningRequests)
  /** Number of denied access reviews, by request name. */
  const refusals = new Map<string, number>()
  requests.addEventHandler((key, { newObject }) => {
    if (newObject !== undefined && isOpen(newObject)) enqueue(key)
    else refusals.delete(key)
  })

  return async ({ key, client, signal }) => {
    const request = requests.get(key)
    if (request === undefined || !isOpen(request)) return undefined
    const permissions = await permissionsFor(request)
    for (const permission of permissions) {
      if (!(await isAllowed(request, permission, { client, signal }))) continue
      await approveRequest(request, permission.message, { client, now: formatTime(platform.clock.now()) })
      return undefined
    }
    if (permissions.length === 0) return undefined
    // Permission changes cannot be watched, so the access review is repeated with backoff.
    const times = (refusals.get(key) ?? 0) + 1
    refusals.set(key, times)
    return { requeueAfterMs: backoffMs(times, askAgain, 0) }
  }
}

function isOpen(request: CertificateSigningRequest): boolean {
  return (
    request.spec?.signerName === kubeletClientSigner && !isApprovedOrDenied(request) && !isIssued(request)
  )
}

/** Any one of them suffices. Empty if the request is not for a kubelet client certificate. */
async function permissionsFor({ spec }: CertificateSigningRequest): Promise<readonly Permission[]> {
  const wanted = await readCertificateRequest(spec?.request ?? '')
  if (wanted === undefined || validateKubeletClientRequest(wanted, spec?.usages ?? []) !== undefined)
    return []
  return wanted.commonName === spec?.username ? [renewal, bootstrap] : [bootstrap]
}

async function isAllowed(
  { spec }: CertificateSigningRequest,
  { subresource }: Permission,
  { client, signal }: Pick<ReconcileRequest, 'client' | 'signal'>,
): Promise<boolean> {
  const { username: user, uid, groups, extra } = spec ?? {}
  const review = {
    metadata: {},
    spec: {
      ...(user && { user }),
      ...(uid && { uid }),
      ...(groups && { groups }),
      ...(extra && { extra }),
      resourceAttributes: {
        group: 'certificates.k8s.io',
        version: '*',
        resource: 'certificatesigningrequests',
        subresource,
        verb: 'create',
      },
    },
  }
  const { status } = await client.create(subjectAccessReviews, review, { signal })
  return status?.allowed ?? false
}
