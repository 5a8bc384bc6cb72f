/** Rules and table columns of `certificates.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import { humanDuration } from '../../text/duration.ts'
import type { CertificateSigningRequest } from '../../generated/certificates/v1.ts'
import type { ClusterTrustBundle, PodCertificateRequest } from '../../generated/certificates/v1beta1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { labelsText } from '../cell-text.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { certificateSigningRequestRules } from './certificate-signing-request.ts'

export const certificatesRules: GroupRules = { CertificateSigningRequest: certificateSigningRequestRules }

const signerNameColumn = textColumn('SignerName', 'Name of the signer.')

const certificateSigningRequestColumns: KindColumns<CertificateSigningRequest> = {
  columns: [
    nameColumn,
    ageColumn,
    signerNameColumn,
    textColumn('Requestor', 'User that created the request.'),
    textColumn('RequestedDuration', 'Requested validity of the certificate.'),
    textColumn('Condition', 'Conditions of the request.'),
  ],
  cells: (request: Unchecked<CertificateSigningRequest>) => {
    const { signerName, username = '', expirationSeconds } = request.spec ?? {}
    return [
      nameOf(request),
      ageOf(request),
      signerName || '<none>',
      username,
      expirationSeconds === undefined ? '<none>' : humanDuration(expirationSeconds * 1000),
      requestState(request),
    ]
  },
}

const clusterTrustBundleColumns: KindColumns<ClusterTrustBundle> = {
  columns: [nameColumn, signerNameColumn],
  cells: (bundle: Unchecked<ClusterTrustBundle>) => [nameOf(bundle), bundle.spec?.signerName || '<none>'],
}

const podCertificateRequestColumns: KindColumns<PodCertificateRequest> = {
  columns: [
    nameColumn,
    textColumn('PodName', 'Pod that requests the certificate.'),
    textColumn('ServiceAccountName', 'Service account of the pod.'),
    textColumn('NodeName', 'Node of the pod.'),
    signerNameColumn,
    textColumn('State', 'State of the request.'),
    textColumn('UnverifiedUserAnnotations', 'Unverified annotations that the pod passes to the signer.'),
  ],
  cells: (request: Unchecked<PodCertificateRequest>) => {
    const spec = request.spec ?? {}
    const decision = request.status?.conditions?.findLast(({ type = '' }) => decisions.includes(type))
    return [
      nameOf(request),
      spec.podName ?? '',
      spec.serviceAccountName ?? '',
      spec.nodeName ?? '',
      spec.signerName ?? '',
      decision?.type ?? 'Pending',
      labelsText(spec.unverifiedUserAnnotations),
    ]
  },
}

/** Mutually exclusive. */
const decisions: readonly string[] = ['Issued', 'Denied', 'Failed']

function requestState({ status }: Unchecked<CertificateSigningRequest>): string {
  const { conditions = [], certificate } = status ?? {}
  const has = (type: string): boolean => conditions.some(condition => condition.type === type)
  const approval = has('Approved') ? 'Approved' : 'Pending'
  const decision = has('Denied') ? 'Denied' : approval
  return `${decision}${has('Failed') ? ',Failed' : ''}${certificate ? ',Issued' : ''}`
}

export const certificatesColumns: GroupColumns = {
  CertificateSigningRequest: certificateSigningRequestColumns,
  ClusterTrustBundle: clusterTrustBundleColumns,
  PodCertificateRequest: podCertificateRequestColumns,
}
