/** Default bindings. The bindings of controllers are derived from their names. */
import type { BindingTable } from './notation.ts'

/** By role name, which is also the name of the binding. */
export const clusterRoleBindings: BindingTable = {
  'cluster-admin': 'group=system:masters',
  'system:basic-user': 'group=system:authenticated',
  'system:discovery': 'group=system:authenticated',
  'system:kube-controller-manager': 'user=system:kube-controller-manager',
  'system:kube-dns': 'account=kube-system/kube-dns',
  'system:kube-scheduler': 'user=system:kube-scheduler',
  'system:monitoring': 'group=system:monitoring',
  // No subjects: the node authorizer handles nodes, and a cluster without it may add them.
  'system:node': '',
  'system:node-proxier': 'user=system:kube-proxy',
  'system:public-info-viewer': 'group=system:authenticated group=system:unauthenticated',
  'system:service-account-issuer-discovery': 'group=system:serviceaccounts',
  'system:volume-scheduler': 'user=system:kube-scheduler',
}

/** By namespace and role name; the binding has the same name unless another is given. */
export const namespaceRoleBindings: BindingTable = {
  'kube-public/system:controller:bootstrap-signer': 'account=kube-system/bootstrap-signer',
  'kube-system/extension-apiserver-authentication-reader': `
    name=system::extension-apiserver-authentication-reader
    user=system:kube-controller-manager user=system:kube-scheduler
  `,
  'kube-system/system::leader-locking-kube-controller-manager': `
    user=system:kube-controller-manager
    account=kube-system/kube-controller-manager account=kube-system/leader-election-controller
  `,
  'kube-system/system::leader-locking-kube-scheduler': `
    user=system:kube-scheduler account=kube-system/kube-scheduler
  `,
  'kube-system/system:controller:bootstrap-signer': 'account=kube-system/bootstrap-signer',
  'kube-system/system:controller:cloud-provider': 'account=kube-system/cloud-provider',
  'kube-system/system:controller:token-cleaner': 'account=kube-system/token-cleaner',
}
