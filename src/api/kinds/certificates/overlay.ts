import { keyed, merged, type Overlay } from '../overlay.ts'

export const certificates: Overlay = {
  merging: {
    'CertificateSigningRequestStatus.conditions': keyed('type'),
    'PodCertificateRequestStatus.conditions': merged('type'),
  },
  resources: { certificatesigningrequests: { shortNames: ['csr'] } },
}
