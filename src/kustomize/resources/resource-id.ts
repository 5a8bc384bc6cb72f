/** Group, version and kind; an empty member of a selecting one matches everything. */
export interface Gvk {
  readonly group: string
  readonly version: string
  readonly kind: string
}

export interface ResourceId extends Gvk {
  readonly name: string
  readonly namespace: string
}

export function gvkOf(apiVersion: string, kind: string): Gvk {
  const slash = apiVersion.indexOf('/')
  if (slash === -1) return { group: '', version: apiVersion, kind }
  return { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1), kind }
}

export function apiVersionOf({ group, version }: Gvk): string {
  return group === '' ? version : `${group}/${version}`
}

export function isSelected(gvk: Gvk, selector: Partial<Gvk>): boolean {
  return (
    (!selector.group || selector.group === gvk.group) &&
    (!selector.version || selector.version === gvk.version) &&
    (!selector.kind || selector.kind === gvk.kind)
  )
}

export function equalGvk(left: Gvk, right: Gvk): boolean {
  return left.group === right.group && left.version === right.version && left.kind === right.kind
}

export function equalGvkName(left: ResourceId, right: ResourceId): boolean {
  return left.name === right.name && equalGvk(left, right)
}

/** Resources without a namespace are in the namespace `default`. */
export function equalIds(left: ResourceId, right: ResourceId): boolean {
  return equalGvkName(left, right) && effectiveNamespace(left) === effectiveNamespace(right)
}

/** Equal for equal ids. */
export function identityOf(id: ResourceId): string {
  return JSON.stringify([id.group, id.version, id.kind, effectiveNamespace(id), id.name])
}

/** The namespace of resources that have none; it cannot be the name of a real one. */
export const noNamespace = '_non_namespaceable_'

export function effectiveNamespace(id: ResourceId): string {
  if (isClusterScoped(id)) return noNamespace
  return id.namespace === '' ? 'default' : id.namespace
}

export function formatGvk({ group, version, kind }: Partial<Gvk>): string {
  return `${kind || '[noKind]'}.${version || '[noVer]'}.${group || '[noGrp]'}`
}

export function formatId(id: ResourceId): string {
  return `${formatGvk(id)}/${id.name || '[noName]'}.${id.namespace || '[noNs]'}`
}

/** As Go prints a value with all its fields. */
export function formatGoId(id: ResourceId): string {
  const { group, version, kind, name, namespace } = id
  const gvk = `Group:"${group}", Version:"${version}", Kind:"${kind}", isClusterScoped:${isClusterScoped(id)}`
  return `resid.ResId{Gvk:resid.Gvk{${gvk}}, Name:"${name}", Namespace:"${namespace}"}`
}

/** False for kinds that kustomize does not know: they may have a namespace. */
export function isClusterScoped(gvk: Gvk): boolean {
  return clusterScopedKinds.has(`${apiVersionOf(gvk)} ${gvk.kind}`)
}

/** The kinds without namespaces that kustomize knows, those of Kubernetes 1.21. */
const clusterScopedKinds: ReadonlySet<string> = new Set(
  Object.entries({
    'admissionregistration.k8s.io/v1': 'MutatingWebhookConfiguration ValidatingWebhookConfiguration',
    'admissionregistration.k8s.io/v1beta1': 'MutatingWebhookConfiguration ValidatingWebhookConfiguration',
    'apiextensions.k8s.io/v1': 'CustomResourceDefinition',
    'apiextensions.k8s.io/v1beta1': 'CustomResourceDefinition',
    'apiregistration.k8s.io/v1': 'APIService',
    'apiregistration.k8s.io/v1beta1': 'APIService',
    'certificates.k8s.io/v1': 'CertificateSigningRequest',
    'certificates.k8s.io/v1beta1': 'CertificateSigningRequest',
    'flowcontrol.apiserver.k8s.io/v1beta1': 'FlowSchema PriorityLevelConfiguration',
    'networking.k8s.io/v1': 'IngressClass',
    'networking.k8s.io/v1beta1': 'IngressClass',
    'node.k8s.io/v1': 'RuntimeClass',
    'node.k8s.io/v1beta1': 'RuntimeClass',
    'policy/v1beta1': 'PodSecurityPolicy',
    'rbac.authorization.k8s.io/v1': 'ClusterRole ClusterRoleBinding',
    'rbac.authorization.k8s.io/v1beta1': 'ClusterRole ClusterRoleBinding',
    'scheduling.k8s.io/v1': 'PriorityClass',
    'scheduling.k8s.io/v1beta1': 'PriorityClass',
    'storage.k8s.io/v1': 'CSIDriver CSINode StorageClass VolumeAttachment',
    'storage.k8s.io/v1beta1': 'CSIDriver CSINode StorageClass VolumeAttachment',
    'v1': 'ComponentStatus Namespace Node PersistentVolume',
  }).flatMap(([apiVersion, kinds]) => kinds.split(' ').map(kind => `${apiVersion} ${kind}`)),
)
