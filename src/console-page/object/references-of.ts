import type { KubernetesObject } from '#/api/metadata.ts'

/** A field of an object that names another object. */
export interface ObjectReference {
  /** What the object is used for: `Node`, `Service account`. */
  readonly label: string
  /** As in `resourceId`, or as users type it. */
  readonly resource: string
  /** Empty for objects that are in no namespace. */
  readonly namespace: string
  readonly name: string
}

const referencesMax = 50

interface ReferencingObject extends KubernetesObject {
  readonly spec?: unknown
  readonly roleRef?: unknown
  readonly subjects?: unknown
}

/** The objects that fields of an object name, without owners. Unexpected types of fields are ignored. */
export function referencesOf(id: string, object: KubernetesObject): ObjectReference[] {
  const { spec, roleRef, subjects } = object as ReferencingObject
  const { namespace = '' } = object.metadata
  const found: ObjectReference[] = []
  const add = (label: string, resource: string, name: unknown): void => {
    if (typeof name === 'string' && name !== '') found.push({ label, resource, namespace, name })
  }
  const addKind = (label: string, reference: unknown): void =>
    add(label, kindOf(reference), at(reference, 'name'))
  switch (id) {
    case 'pods':
      addPodReferences(spec, add)
      break
    case 'horizontalpodautoscalers.autoscaling':
      addKind('Target', at(spec, 'scaleTargetRef'))
      break
    case 'ingresses.networking.k8s.io':
      add('Class', 'ingressclasses.networking.k8s.io', at(spec, 'ingressClassName'))
      add('Service', 'services', at(spec, 'defaultBackend', 'service', 'name'))
      for (const rule of items(spec, 'rules')) {
        for (const path of items(rule, 'http', 'paths'))
          add('Service', 'services', at(path, 'backend', 'service', 'name'))
      }
      for (const tls of items(spec, 'tls')) add('Secret', 'secrets', at(tls, 'secretName'))
      break
    case 'persistentvolumeclaims':
      add('Volume', 'persistentvolumes', at(spec, 'volumeName'))
      add('Class', 'storageclasses.storage.k8s.io', at(spec, 'storageClassName'))
      break
    case 'persistentvolumes': {
      const claim = at(spec, 'claimRef')
      const within = at(claim, 'namespace')
      const name = at(claim, 'name')
      if (typeof name === 'string' && typeof within === 'string') {
        found.push({ label: 'Claim', resource: 'persistentvolumeclaims', namespace: within, name })
      }
      add('Class', 'storageclasses.storage.k8s.io', at(spec, 'storageClassName'))
      break
    }
    case 'rolebindings.rbac.authorization.k8s.io':
    case 'clusterrolebindings.rbac.authorization.k8s.io':
      addKind('Role', roleRef)
      for (const subject of Array.isArray(subjects) ? subjects : []) {
        const within = at(subject, 'namespace')
        const name = at(subject, 'name')
        if (
          at(subject, 'kind') !== 'ServiceAccount' ||
          typeof within !== 'string' ||
          typeof name !== 'string'
        )
          continue
        found.push({ label: 'Subject', resource: 'serviceaccounts', namespace: within, name })
      }
      break
    default:
  }
  return distinct(found).slice(0, referencesMax)
}

type Add = (label: string, resource: string, name: unknown) => void

function addPodReferences(spec: unknown, add: Add): void {
  add('Node', 'nodes', at(spec, 'nodeName'))
  add('Service account', 'serviceaccounts', at(spec, 'serviceAccountName'))
  add('Priority class', 'priorityclasses.scheduling.k8s.io', at(spec, 'priorityClassName'))
  for (const volume of items(spec, 'volumes')) {
    add('ConfigMap', 'configmaps', at(volume, 'configMap', 'name'))
    add('Secret', 'secrets', at(volume, 'secret', 'secretName'))
    add('Claim', 'persistentvolumeclaims', at(volume, 'persistentVolumeClaim', 'claimName'))
  }
  for (const container of [...items(spec, 'initContainers'), ...items(spec, 'containers')]) {
    for (const source of [
      ...items(container, 'envFrom'),
      ...items(container, 'env').map(each => at(each, 'valueFrom')),
    ]) {
      add(
        'ConfigMap',
        'configmaps',
        at(source, 'configMapRef', 'name') ?? at(source, 'configMapKeyRef', 'name'),
      )
      add('Secret', 'secrets', at(source, 'secretRef', 'name') ?? at(source, 'secretKeyRef', 'name'))
    }
  }
  for (const secret of items(spec, 'imagePullSecrets')) add('Secret', 'secrets', at(secret, 'name'))
}

function at(value: unknown, ...path: readonly string[]): unknown {
  let found = value
  for (const name of path) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined
    found = (found as Readonly<Record<string, unknown>>)[name]
  }
  return found
}

function items(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

/** `deployment.apps` of a reference with kind and API version or group. */
function kindOf(reference: unknown): string {
  const kind = at(reference, 'kind')
  const apiVersion = at(reference, 'apiVersion') ?? at(reference, 'apiGroup')
  const [group = ''] = typeof apiVersion === 'string' ? apiVersion.split('/') : []
  return `${String(kind).toLowerCase()}${group === '' || group === 'v1' ? '' : `.${group}`}`
}

function distinct(references: readonly ObjectReference[]): ObjectReference[] {
  return [...new Map(references.map(each => [Object.values(each).join(' '), each])).values()]
}
