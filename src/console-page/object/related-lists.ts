import type { KubernetesObject } from '#/api/metadata.ts'
import { formatSelector, type LabelSelectorFields } from '../format/format-selector.ts'

/** A list of objects that belong to an object. */
export interface RelatedList {
  readonly title: string
  /** As in `resourceId`. */
  readonly resource: string
  /** Empty for all namespaces. */
  readonly namespace: string
  readonly parameters: Readonly<Record<string, string>>
  /** Only objects with an owner reference to this one. */
  readonly isOwned: boolean
}

interface SelectingObject extends KubernetesObject {
  readonly spec?: { readonly selector?: LabelSelectorFields & Readonly<Record<string, unknown>> }
}

/** The lists that the page of an object shows beside it. `id` is that of the object's resource. */
export function relatedLists(id: string, object: KubernetesObject): RelatedList[] {
  const { name = '', namespace = '' } = object.metadata
  const { selector } = (object as SelectingObject).spec ?? {}
  const parameters = { labelSelector: formatSelector(selector) }
  const owned = { namespace, parameters, isOwned: true }
  const pods: RelatedList = { title: 'Pods', resource: 'pods', ...owned }
  switch (id) {
    case 'deployments.apps':
      return [
        { title: 'ReplicaSets', resource: 'replicasets.apps', ...owned },
        { ...pods, isOwned: false },
      ]
    case 'replicasets.apps':
    case 'statefulsets.apps':
    case 'daemonsets.apps':
    case 'jobs.batch':
    case 'replicationcontrollers':
      return [pods]
    case 'cronjobs.batch':
      return [{ ...owned, title: 'Jobs', resource: 'jobs.batch', parameters: {} }]
    case 'nodes': {
      const fieldSelector = `spec.nodeName=${name}`
      return [{ ...pods, namespace: '', parameters: { fieldSelector }, isOwned: false }]
    }
    case 'services':
      return [
        {
          title: 'EndpointSlices',
          resource: 'endpointslices.discovery.k8s.io',
          namespace,
          parameters: { labelSelector: `kubernetes.io/service-name=${name}` },
          isOwned: false,
        },
        // A service without a selector selects nothing.
        ...(parameters.labelSelector === '' ? [] : [{ ...pods, isOwned: false }]),
      ]
    default:
      return []
  }
}
