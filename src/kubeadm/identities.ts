/**
 * Who the components of a cluster are, each under the name for which Kubernetes has roles. As a certificate
 * for those that are processes of their own, as a user for those in one process with the API server.
 */
import type { UserInfo } from '#/api/transport.ts'
import type { CertificateProfile } from './certificates/profile.ts'

/** Members of this group may do everything, whatever the rules of the cluster say. */
export const administrator = client('kubernetes-admin', ['system:masters'])

export const controllerManager = client('system:kube-controller-manager')

export const scheduler = client('system:kube-scheduler')

export const kubeProxy = client('system:kube-proxy')

/** The API server, where it goes to kubelets. */
export const kubeletClient = client('kube-apiserver-kubelet-client')

export function nodeIdentity(nodeName: string): CertificateProfile {
  return client(`system:node:${nodeName}`, ['system:nodes'])
}

/** Whom the API server takes somebody with such a certificate for. */
export function userOf({ commonName, organizations }: CertificateProfile): UserInfo {
  return { username: commonName, groups: [...organizations, 'system:authenticated'] }
}

function client(commonName: string, organizations: readonly string[] = []): CertificateProfile {
  return { commonName, organizations, usage: 'client', names: [] }
}
