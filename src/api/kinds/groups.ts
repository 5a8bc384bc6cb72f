/**
 * The built-in API groups, in discovery order. The order also resolves resource names that exist in several
 * groups (`events`): the first group wins.
 */
export interface Group {
  /** As in `apiVersion`; empty for the core group. */
  readonly name: string
  /** Short name: the folder of the generated types and a component of definition names. */
  readonly package: string
}

export const groups: readonly Group[] = [
  { name: '', package: 'core' },
  { name: 'apiregistration.k8s.io', package: 'apiregistration' },
  { name: 'apps', package: 'apps' },
  { name: 'events.k8s.io', package: 'events' },
  { name: 'authentication.k8s.io', package: 'authentication' },
  { name: 'authorization.k8s.io', package: 'authorization' },
  { name: 'autoscaling', package: 'autoscaling' },
  { name: 'batch', package: 'batch' },
  { name: 'certificates.k8s.io', package: 'certificates' },
  { name: 'networking.k8s.io', package: 'networking' },
  { name: 'policy', package: 'policy' },
  { name: 'rbac.authorization.k8s.io', package: 'rbac' },
  { name: 'storage.k8s.io', package: 'storage' },
  { name: 'admissionregistration.k8s.io', package: 'admissionregistration' },
  { name: 'apiextensions.k8s.io', package: 'apiextensions' },
  { name: 'scheduling.k8s.io', package: 'scheduling' },
  { name: 'coordination.k8s.io', package: 'coordination' },
  { name: 'node.k8s.io', package: 'node' },
  { name: 'discovery.k8s.io', package: 'discovery' },
  { name: 'resource.k8s.io', package: 'resource' },
  { name: 'flowcontrol.apiserver.k8s.io', package: 'flowcontrol' },
  { name: 'internal.apiserver.k8s.io', package: 'apiserverinternal' },
  { name: 'storagemigration.k8s.io', package: 'storagemigration' },
]

/** Prefixes of definitions that are not under `io.k8s.api`. */
const roots: Readonly<Record<string, string>> = {
  apiextensions: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  apiregistration: 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
  meta: 'io.k8s.apimachinery.pkg.apis.meta',
  runtime: 'io.k8s.apimachinery.pkg.runtime',
  version: 'io.k8s.apimachinery.pkg.version',
}

/** The OpenAPI name of a definition: `core.v1.Pod` is `io.k8s.api.core.v1.Pod`. */
export function definitionName(shortName: string): string {
  const dot = shortName.indexOf('.')
  const group = shortName.slice(0, dot)
  return `${roots[group] ?? `io.k8s.api.${group}`}${shortName.slice(dot)}`
}

/**
 * Versions that are no longer served, but in which kinds common to all groups (`DeleteOptions`, `WatchEvent`)
 * are still accepted.
 */
export const removedVersions: readonly string[] = [
  'admission.k8s.io/v1',
  'admission.k8s.io/v1beta1',
  'apiextensions.k8s.io/v1beta1',
  'apiregistration.k8s.io/v1beta1',
  'apps/v1beta1',
  'apps/v1beta2',
  'authentication.k8s.io/v1alpha1',
  'authentication.k8s.io/v1beta1',
  'authorization.k8s.io/v1beta1',
  'batch/v1beta1',
  'discovery.k8s.io/v1beta1',
  'events.k8s.io/v1beta1',
  'extensions/v1beta1',
  'flowcontrol.apiserver.k8s.io/v1beta1',
  'flowcontrol.apiserver.k8s.io/v1beta2',
  'flowcontrol.apiserver.k8s.io/v1beta3',
  'imagepolicy.k8s.io/v1alpha1',
  'node.k8s.io/v1alpha1',
  'node.k8s.io/v1beta1',
  'policy/v1beta1',
  'rbac.authorization.k8s.io/v1alpha1',
  'rbac.authorization.k8s.io/v1beta1',
  'scheduling.k8s.io/v1beta1',
  'storage.k8s.io/v1alpha1',
]
