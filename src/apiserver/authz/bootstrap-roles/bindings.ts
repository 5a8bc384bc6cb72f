/** Who has the roles from the first moment. Controllers have theirs by their names. */
import type { BindingTable } from './notation.ts'

/** By the name of the role, which is the binding's too. */
export const clusterRoleBindings: BindingTable = {
  'cluster-admin': 'group=system:masters',
  'system:basic-user': 'group=system:authenticated',
  'system:discovery': 'group=system:authenticated',
  'system:kube-controller-manager': 'user=system:kube-controller-manager',
  'system:kube-dns': 'account=kube-system/kube-dns',
  'system:kube-scheduler': 'user=system:kube-scheduler',
  'system:monitoring': 'group=system:monitoring',
  // The node authorizer decides for nodes; a cluster without it may add them here.
  'system:node': '',
  'system:node-proxier': 'user=system:kube-proxy',
  'system:public-info-viewer': 'group=system:authenticated group=system:unauthenticated',
  'system:service-account-issuer-discovery': 'group=system:serviceaccounts',
  'system:volume-scheduler': 'user=system:kube-scheduler',
}

/** By namespace and name of the role; the binding has the same name unless it says another. */
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
