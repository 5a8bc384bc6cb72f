/** Default roles in system namespaces, by namespace and name. */
import type { RoleTable } from './notation.ts'

export const namespaceRoles: RoleTable = {
  'kube-public/system:controller:bootstrap-signer': `
    read core configmaps
    update core configmaps = cluster-info
    events
  `,
  'kube-system/extension-apiserver-authentication-reader': `
    read core configmaps = extension-apiserver-authentication
  `,
  'kube-system/system::leader-locking-kube-controller-manager': `
    read,create,update coordination.k8s.io leases
    read,create,update coordination.k8s.io leasecandidates
  `,
  'kube-system/system::leader-locking-kube-scheduler': `
    read,create,update coordination.k8s.io leases
    read,create,update coordination.k8s.io leasecandidates
  `,
  'kube-system/system:controller:bootstrap-signer': 'read core secrets',
  'kube-system/system:controller:cloud-provider': 'read,create core configmaps',
  'kube-system/system:controller:token-cleaner': `
    read,delete core secrets
    events
  `,
}
