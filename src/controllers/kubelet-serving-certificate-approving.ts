/**
 * Approves CertificateSigningRequests of kubelets for serving certificates. Kubernetes leaves them to an
 * administrator or to a controller of the cluster's operator, because the names in such a certificate must be
 * verified. This controller approves a request only if the kubelet itself made it and every name is one that the
 * status of its Node has. It never denies: all other requests wait for a manual decision. Nodes are trusted with
 * the addresses in their status; a cluster in which they are not switches the controller off.
 * https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/#certificate-rotation
 */
import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { certificateSigningRequests } from '#/api/generated/certificates/v1-resources.ts'
import type { Node } from '#/api/generated/core/v1.ts'
import { nodes } from '#/api/generated/core/v1-resources.ts'
import { keyOf } from '#/api/metadata.ts'
import { formatIp, parseIp } from '#/api/net/ip.ts'
import { formatTime } from '#/api/text/time.ts'
import { approveRequest } from './certificates/approve-request.ts'
import { readCertificateRequest, type CertificateRequest } from './certificates/certificate-request.ts'
import { isApprovedOrDenied, isIssued } from './certificates/csr-conditions.ts'
import { kubeletServingSigner, validateKubeletServingRequest } from './certificates/signers.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'

export const kubeletServingCertificateApprovingController: Controller = {
  name: 'kubelet-serving-certificate-approving-controller',
  account: 'kubelet-serving-certificate-approver',
  setUp,
}

const message = 'Auto approving kubelet serving certificate: all names are addresses of the node.'

const userPrefix = 'system:node:'

function setUp({ platform, recorder, informer, enqueue }: ControllerContext): Reconcile {
  const requests = informer(certificateSigningRequests)
  const nodeInformer = informer(nodes)
  /** The reason of the last event, by request. */
  const refusals = new Map<string, string>()
  requests.addEventHandler((key, { newObject }) => {
    if (newObject !== undefined && isOpen(newObject)) enqueue(key)
    else refusals.delete(key)
  })
  // A kubelet may request the certificate before its Node exists or has all addresses.
  nodeInformer.addEventHandler((name, { oldObject, newObject }) => {
    if (newObject === undefined || namesOf(oldObject) === namesOf(newObject)) return
    for (const request of requests.list()) {
      if (isOpen(request) && request.spec.username === userPrefix + name) enqueue(keyOf(request))
    }
  })

  return async ({ key, client }) => {
    const request = requests.get(key)
    if (request === undefined || !isOpen(request)) return
    const wanted = await readCertificateRequest(request.spec.request)
    const node = nodeInformer.get(nodeNameOf(request))
    const refusal = servingRequestRefusal(request, wanted, node)
    if (refusal === undefined) {
      await approveRequest(request, message, { client, now: formatTime(platform.clock.now()) })
      return
    }
    if (refusals.get(key) === refusal) return
    refusals.set(key, refusal)
    const text = `Not approved automatically: ${refusal}`
    recorder.record(request, { type: 'Warning', reason: 'ServingCertificateNotApproved', message: text })
  }
}

/** The reason why a request needs a manual decision; undefined if it can be approved. */
export function servingRequestRefusal(
  { spec }: CertificateSigningRequest,
  wanted: CertificateRequest | undefined,
  node: Node | undefined,
): string | undefined {
  const { username = '', groups = [], usages = [] } = spec
  if (wanted === undefined) return 'the certificate request cannot be read'
  const invalid = validateKubeletServingRequest(wanted, usages)
  if (invalid !== undefined) return invalid
  if (!username.startsWith(userPrefix) || !groups.includes('system:nodes'))
    return `requester ${username} is not a node`
  if (wanted.commonName !== username)
    return `subject common name ${wanted.commonName} is not the requester ${username}`
  if (node === undefined) return `Node ${username.slice(userPrefix.length)} does not exist`
  const known = new Set([node.metadata.name, ...addressesOf(node)].map(name => canonical(name ?? '')))
  const foreign = [...wanted.names.dns, ...wanted.names.ip].find(name => !known.has(canonical(name)))
  return foreign === undefined ? undefined : `${foreign} is not an address of Node ${node.metadata.name}`
}

function isOpen(request: CertificateSigningRequest): boolean {
  return (
    request.spec.signerName === kubeletServingSigner && !isApprovedOrDenied(request) && !isIssued(request)
  )
}

function nodeNameOf({ spec: { username = '' } }: CertificateSigningRequest): string {
  return username.startsWith(userPrefix) ? username.slice(userPrefix.length) : ''
}

function addressesOf(node: Node | undefined): readonly string[] {
  return (node?.status?.addresses ?? []).map(({ address }) => address)
}

function namesOf(node: Node | undefined): string | undefined {
  return node && addressesOf(node).join()
}

/** IPv6 addresses have several spellings, and DNS names are case-insensitive. */
function canonical(name: string): string {
  const ip = parseIp(name)
  return ip === undefined ? name.toLowerCase() : formatIp(ip)
}
