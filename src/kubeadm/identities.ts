/**
 * The identities of the components of a cluster, with the user names of Kubernetes' default roles. Separate
 * processes use them in certificates; components in the API server's process use them as users.
 */
import type { UserInfo } from '#/api/transport.ts'
import type { CertificateProfile } from './certificates/profile.ts'

/** The group `system:masters` is authorized for everything, regardless of RBAC. */
export const administrator = client('kubernetes-admin', ['system:masters'])

/** The group of kubeadm's administrators. Its rights come from RBAC, so that they can be revoked. */
export const clusterAdminsGroup = 'kubeadm:cluster-admins'

export const clusterAdministrator = client('kubernetes-admin', [clusterAdminsGroup])

/** For emergencies: not subject to RBAC. */
export const superAdministrator = client('kubernetes-super-admin', ['system:masters'])

export const controllerManager = client('system:kube-controller-manager')

export const scheduler = client('system:kube-scheduler')

export const kubeProxy = client('system:kube-proxy')

/** The service account of the DNS server. */
export const dnsServer = client('system:serviceaccount:kube-system:coredns', [
  'system:serviceaccounts',
  'system:serviceaccounts:kube-system',
])

/** The service account of the Ingress controller. */
export const ingressController = client('system:serviceaccount:kube-system:k8ts-ingress', [
  'system:serviceaccounts',
  'system:serviceaccounts:kube-system',
])

/** The API server as a client of kubelets. */
export const kubeletClient = client('kube-apiserver-kubelet-client')

export function nodeIdentity(nodeName: string): CertificateProfile {
  return client(`system:node:${nodeName}`, ['system:nodes'])
}

/** The user that the API server authenticates for such a client certificate. */
export function userOf({ commonName, organizations }: CertificateProfile): UserInfo {
  return { username: commonName, groups: [...organizations, 'system:authenticated'] }
}

function client(commonName: string, organizations: readonly string[] = []): CertificateProfile {
  return { commonName, organizations, usage: 'client', names: [] }
}
