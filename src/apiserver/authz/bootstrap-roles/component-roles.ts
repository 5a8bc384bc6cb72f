/** Default roles of cluster components and common add-ons. */
import type { RoleTable } from './notation.ts'

export const componentRoles: RoleTable = {
  'system:auth-delegator': `
    create authentication.k8s.io tokenreviews
    create authorization.k8s.io subjectaccessreviews
  `,
  'system:certificates.k8s.io:certificatesigningrequests:nodeclient': `
    create certificates.k8s.io certificatesigningrequests/nodeclient
  `,
  'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient': `
    create certificates.k8s.io certificatesigningrequests/selfnodeclient
  `,
  'system:certificates.k8s.io:kube-apiserver-client-approver': `
    approve certificates.k8s.io signers = kubernetes.io/kube-apiserver-client
  `,
  'system:certificates.k8s.io:kube-apiserver-client-kubelet-approver': `
    approve certificates.k8s.io signers = kubernetes.io/kube-apiserver-client-kubelet
  `,
  'system:certificates.k8s.io:kubelet-serving-approver': `
    approve certificates.k8s.io signers = kubernetes.io/kubelet-serving
  `,
  'system:certificates.k8s.io:legacy-unknown-approver': `
    approve certificates.k8s.io signers = kubernetes.io/legacy-unknown
  `,
  'system:heapster': `
    read core events namespaces nodes pods
    read extensions deployments
  `,
  'system:kube-aggregator': 'read core endpoints services',
  'system:kube-controller-manager': `
    events
    create coordination.k8s.io leases
    get,update coordination.k8s.io leases = kube-controller-manager
    create core secrets serviceaccounts
    delete core secrets
    get core configmaps namespaces secrets serviceaccounts
    update core secrets serviceaccounts
    create authentication.k8s.io tokenreviews
    create authorization.k8s.io subjectaccessreviews
    list,watch * *
    create core serviceaccounts/token
  `,
  'system:kube-dns': 'list,watch core endpoints services',
  'system:kube-scheduler': `
    events
    create coordination.k8s.io leases
    read,update coordination.k8s.io leases = kube-scheduler
    read,write coordination.k8s.io leasecandidates
    read core nodes
    read,delete core pods
    create core bindings pods/binding
    patch,update core pods/status
    read core replicationcontrollers services
    read apps,extensions replicasets
    read apps statefulsets
    read policy poddisruptionbudgets
    read core persistentvolumeclaims persistentvolumes
    create authentication.k8s.io tokenreviews
    create authorization.k8s.io subjectaccessreviews
    read storage.k8s.io csinodes
    read storage.k8s.io volumeattachments
    read core namespaces
    read storage.k8s.io csidrivers
    read storage.k8s.io csistoragecapacities
    read resource.k8s.io deviceclasses
    read,patch,update resource.k8s.io resourceclaims
    read,patch,update resource.k8s.io resourceclaims/status
    update core pods/finalizers
    read resource.k8s.io resourceslices
    create,delete resource.k8s.io resourceclaims
    patch,update resource.k8s.io resourceclaims/binding
  `,
  'system:kubelet-api-admin': `
    read core nodes
    proxy core nodes
    * core nodes/log nodes/metrics nodes/proxy nodes/stats
    * core nodes/configz nodes/healthz nodes/pods
  `,
  'system:node': `
    create authentication.k8s.io tokenreviews
    create authorization.k8s.io localsubjectaccessreviews subjectaccessreviews
    read core services
    read,create core nodes
    patch,update core nodes/status
    patch,update core nodes
    events
    read core pods
    create,delete core pods
    patch,update core pods/status
    create core pods/eviction
    read core configmaps secrets
    get core persistentvolumeclaims persistentvolumes
    get core endpoints
    read,create certificates.k8s.io certificatesigningrequests
    create,delete,get,patch,update coordination.k8s.io leases
    get storage.k8s.io volumeattachments
    create core serviceaccounts/token
    get,patch,update core persistentvolumeclaims/status
    read storage.k8s.io csidrivers
    create,delete,get,patch,update storage.k8s.io csinodes
    read node.k8s.io runtimeclasses
    get resource.k8s.io resourceclaims
    deletecollection resource.k8s.io resourceslices
    get core serviceaccounts
  `,
  'system:node-bootstrapper': 'read,create certificates.k8s.io certificatesigningrequests',
  'system:node-problem-detector': `
    get core nodes
    patch core nodes/status
    events
  `,
  'system:node-proxier': `
    list,watch core endpoints services
    read core nodes
    events
    list,watch networking.k8s.io servicecidrs
    list,watch discovery.k8s.io endpointslices
  `,
  'system:persistent-volume-provisioner': `
    read,create,delete core persistentvolumes
    read,update core persistentvolumeclaims
    read storage.k8s.io storageclasses
    watch core events
    events
  `,
  'system:volume-scheduler': `
    read,patch,update core persistentvolumes
    read storage.k8s.io storageclasses
    read,patch,update core persistentvolumeclaims
  `,
}

/** Roles in system namespaces, by namespace and name. */
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
