/** Checks the certificates a kubelet requests: for itself, and for pods bound to its node. */
import { notFound } from '#/api/errors.ts'
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import type { PodCertificateRequest } from '#/api/generated/certificates/v1beta1.ts'
import { nodes, pods, serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { admissionForbidden, type AdmissionAttributes } from '../../admission-chain.ts'
import { certificateRequestSubject } from '../certificate-request-subject.ts'
import { getCached } from '../../lookup.ts'
import type { PluginContext } from '../../plugin-context.ts'
import { isMirror } from '../pod-spec.ts'

const nodeSigners: readonly (string | undefined)[] = [
  'kubernetes.io/kubelet-serving',
  'kubernetes.io/kube-apiserver-client-kubelet',
]

export async function checkCertificateRequest(request: AdmissionAttributes, nodeName: string): Promise<void> {
  if (request.operation !== 'CREATE') return
  const { spec } = request.object as CertificateSigningRequest
  if (!nodeSigners.includes(spec?.signerName)) return
  const { commonName } = await certificateRequestSubject(spec?.request ?? '').catch((error: Error) => {
    throw admissionForbidden(request, `unable to parse csr: ${error.message}`)
  })
  if (commonName === `system:node:${nodeName}`) return
  throw admissionForbidden(request, `can only create a node CSR with CN=system:node:${nodeName}`)
}

export function checkPodCertificateRequest(
  request: AdmissionAttributes,
  nodeName: string,
  context: PluginContext,
): void {
  const { operation, subresource, namespace } = request
  if (operation !== 'CREATE') throw admissionForbidden(request, `unexpected operation ${operation}`)
  if (subresource !== '') throw admissionForbidden(request, `unexpected subresource ${subresource}`)
  const { spec } = request.object as Partial<PodCertificateRequest>
  if (spec?.nodeName !== nodeName) {
    throw admissionForbidden(
      request,
      `PodCertificateRequest.Spec.NodeName="${spec?.nodeName ?? ''}", which is not the requesting node "${nodeName}"`,
    )
  }
  const node = getCached(context, nodes, { name: nodeName })
  if (node === undefined) throw notFound({ group: '', kind: 'nodes', name: nodeName })
  const about = `PodCertificateRequest for pod "${namespace}/${spec.podName}"`
  if (node.metadata.uid !== spec.nodeUID) {
    throw admissionForbidden(
      request,
      `${about} names node UID "${spec.nodeUID}", inconsistent with the running node ("${node.metadata.uid}")`,
    )
  }
  checkPod(request, nodeName, context)
  const account = getCached(context, serviceAccounts, { name: spec.serviceAccountName, namespace })
  if (account === undefined)
    throw notFound({ group: '', kind: 'serviceaccounts', name: spec.serviceAccountName })
  if (account.metadata.uid === spec.serviceAccountUID) return
  throw admissionForbidden(
    request,
    `${about} names service account UID "${spec.serviceAccountUID}", ` +
      `which differs from the running service account ("${account.metadata.uid}")`,
  )
}

function checkPod(request: AdmissionAttributes, nodeName: string, context: PluginContext): void {
  const { namespace } = request
  const { spec } = request.object as PodCertificateRequest
  const pod = getCached(context, pods, { name: spec.podName, namespace })
  if (pod === undefined) throw notFound({ group: '', kind: 'pods', name: spec.podName })
  const name = `"${namespace}/${spec.podName}"`
  if (spec.podUID !== pod.metadata.uid) {
    throw admissionForbidden(
      request,
      `PodCertificateRequest for pod ${name} contains pod UID ("${spec.podUID}") ` +
        `which differs from running pod "${pod.metadata.uid}"`,
    )
  }
  if (pod.spec?.nodeName !== nodeName) {
    throw admissionForbidden(
      request,
      `pod ${name} is not running on node "${nodeName}" named in the PodCertificateRequest`,
    )
  }
  if (isMirror(pod)) throw admissionForbidden(request, `pod ${name} is a mirror pod`)
  if (spec.serviceAccountName === pod.spec.serviceAccountName) return
  throw admissionForbidden(
    request,
    `PodCertificateRequest for pod ${name} contains serviceAccountName ` +
      `("${spec.serviceAccountName}") that differs from running pod ("${pod.spec.serviceAccountName ?? ''}")`,
  )
}
