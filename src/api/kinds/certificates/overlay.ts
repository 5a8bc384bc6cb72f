/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { keyed, merged, type Overlay } from '../overlay.ts'

export const certificatesOverlay: Overlay = {
  merging: {
    'CertificateSigningRequestStatus.conditions': keyed('type'),
    'PodCertificateRequestStatus.conditions': merged('type'),
  },
  defaults: { 'v1beta1/PodCertificateRequestSpec.maxExpirationSeconds': 86_400 },
  enums: {
    KeyUsage: [
      'any',
      'cert sign',
      'client auth',
      'code signing',
      'content commitment',
      'crl sign',
      'data encipherment',
      'decipher only',
      'digital signature',
      'email protection',
      'encipher only',
      'ipsec end system',
      'ipsec tunnel',
      'ipsec user',
      'key agreement',
      'key encipherment',
      'microsoft sgc',
      'netscape sgc',
      'ocsp signing',
      's/mime',
      'server auth',
      'signing',
      'timestamping',
    ],
  },
  enumFields: {
    'CertificateSigningRequestSpec.usages': 'KeyUsage',
  },
  spacedSentences: [
    'PodCertificateRequestSpec',
    'PodCertificateRequestStatus.notAfter',
    'PodCertificateRequestStatus.notBefore',
  ],
  resources: { certificatesigningrequests: { shortNames: ['csr'] } },
  fieldNumbers: `
CertificateSigningRequest: metadata spec status
CertificateSigningRequestCondition: type reason message lastUpdateTime lastTransitionTime status
CertificateSigningRequestList: metadata items
CertificateSigningRequestSpec: request username uid groups usages extra signerName expirationSeconds?
CertificateSigningRequestStatus: conditions certificate
ClusterTrustBundle: metadata spec
ClusterTrustBundleList: metadata items
ClusterTrustBundleSpec: signerName trustBundle
PodCertificateRequest: metadata spec status
PodCertificateRequestList: metadata items
PodCertificateRequestSpec: signerName podName podUID serviceAccountName serviceAccountUID nodeName nodeUID
  maxExpirationSeconds? pkixPublicKey! proofOfPossession! unverifiedUserAnnotations stubPKCS10Request
PodCertificateRequestStatus: conditions certificateChain 4:notBefore? beginRefreshAt? notAfter?
`,
}
