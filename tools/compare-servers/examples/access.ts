import type { Examples } from './example.ts'

/** Created with openssl, for the common name `sample`. */
const certificateRequest = Buffer.from(`-----BEGIN CERTIFICATE REQUEST-----
MIHKMHMCAQAwETEPMA0GA1UEAwwGc2FtcGxlMFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAEthk9eOo7+IFoBJJLUP8sE1sRDLUKeX48ZDBmBhU+kbaPlhpxnJNXATfN
zO7p6u3KkmVa/8teECoxt3SaIzfXKaAAMAoGCCqGSM49BAMCA0cAMEQCIAhsCbK6
3uQgLz2VDZhSvjKDi0ZQplObwCDRKo+Cbs5UAiAS95KiEec+ChnIDeAbNSuXo32F
7PoXDhEH2HfeEUgAig==
-----END CERTIFICATE REQUEST-----
`).toString('base64')

const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'nowhere' }
const rules = [{ apiGroups: [''], resources: ['pods'], resourceNames: ['one'], verbs: ['get'] }]
const subjects = [
  { kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'nowhere' },
  { kind: 'ServiceAccount', name: 'one', namespace: 'nowhere' },
]
const resourceAttributes = {
  namespace: 'compare-servers',
  verb: 'get',
  group: '',
  version: 'v1',
  resource: 'pods',
  subresource: 'log',
  name: 'one',
}
const user = 'compare-servers:other'

export const accessExamples: Examples = {
  'rbac.authorization.k8s.io/ClusterRole': {
    minimal: { rules: [] },
    rich: {
      rules: [...rules, { nonResourceURLs: ['/healthz'], verbs: ['get'] }],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { aggregate: 'nowhere' } }] },
    },
  },
  'rbac.authorization.k8s.io/ClusterRoleBinding': { minimal: { roleRef }, rich: { roleRef, subjects } },
  'rbac.authorization.k8s.io/Role': { minimal: { rules: [] }, rich: { rules } },
  'rbac.authorization.k8s.io/RoleBinding': { minimal: { roleRef }, rich: { roleRef, subjects } },
  'authentication.k8s.io/SelfSubjectReview': { minimal: {}, rich: { metadata: { labels: { a: 'b' } } } },
  'authentication.k8s.io/TokenReview': {
    minimal: { spec: { token: 'none' } },
    rich: { spec: { token: 'none', audiences: ['a'] } },
  },
  'authentication.k8s.io/TokenRequest': {
    minimal: { spec: { audiences: [] } },
    rich: { spec: { audiences: ['a'], expirationSeconds: 3600 } },
  },
  'authorization.k8s.io/LocalSubjectAccessReview': {
    minimal: {
      spec: { user, resourceAttributes: { namespace: 'compare-servers', verb: 'get', resource: 'pods' } },
    },
    rich: { spec: { user, groups: ['g'], uid: 'u', extra: { scope: ['a'] }, resourceAttributes } },
  },
  'authorization.k8s.io/SelfSubjectAccessReview': {
    minimal: { spec: { nonResourceAttributes: { path: '/healthz', verb: 'get' } } },
    rich: { spec: { resourceAttributes } },
  },
  'authorization.k8s.io/SelfSubjectRulesReview': {
    minimal: { spec: { namespace: 'default' } },
    rich: { spec: { namespace: 'compare-servers' } },
  },
  'authorization.k8s.io/SubjectAccessReview': {
    minimal: { spec: { user, nonResourceAttributes: { path: '/healthz', verb: 'get' } } },
    rich: { spec: { user, groups: ['g'], uid: 'u', extra: { scope: ['a'] }, resourceAttributes } },
  },
  'certificates.k8s.io/CertificateSigningRequest': {
    minimal: {
      spec: { request: certificateRequest, signerName: 'example.com/signer', usages: ['client auth'] },
    },
    rich: {
      spec: {
        request: certificateRequest,
        signerName: 'example.com/signer',
        usages: ['digital signature', 'client auth'],
        expirationSeconds: 3600,
      },
    },
  },
  'policy/Eviction': { minimal: {}, rich: { deleteOptions: { gracePeriodSeconds: 0 } } },
}
