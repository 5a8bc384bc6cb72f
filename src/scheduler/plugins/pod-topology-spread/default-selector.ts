import type { Pod } from '#/api/generated/core/v1.ts'
import { replicationControllers, services } from '#/api/generated/core/v1-resources.ts'
import { replicaSets, statefulSets } from '#/api/generated/apps/v1-resources.ts'
import type { Labels } from '#/api/labels.ts'
import { controllerOf, formatKey } from '#/api/metadata.ts'
import {
  compileLabelSelector,
  everything,
  selectorFromLabels,
  selectorOf,
  type Selector,
} from '#/api/selectors/selector.ts'
import type { PluginHandle } from '../../framework.ts'

/**
 * Selector of the pods that are spread together by default: those of the same Services and the same owner.
 */
export type DefaultSelector = (pod: Pod) => Selector

export function defaultSelector({ informer }: Pick<PluginHandle, 'informer'>): DefaultSelector {
  const [allServices, controllers] = [informer(services), informer(replicationControllers)]
  const [allReplicaSets, allStatefulSets] = [informer(replicaSets), informer(statefulSets)]
  const ownerSelector = (pod: Pod): Selector => {
    const owner = controllerOf(pod)
    if (owner === undefined) return everything
    const key = formatKey({ namespace: pod.metadata.namespace ?? '', name: owner.name })
    switch (`${owner.apiVersion} ${owner.kind}`) {
      case 'v1 ReplicationController':
        return selectorFrom(controllers.get(key)?.spec?.selector)
      case 'apps/v1 ReplicaSet': {
        const set = allReplicaSets.get(key)
        return set?.spec === undefined ? everything : compileLabelSelector(set.spec.selector)
      }
      case 'apps/v1 StatefulSet': {
        const set = allStatefulSets.get(key)
        return set?.spec === undefined ? everything : compileLabelSelector(set.spec.selector)
      }
      default:
        return everything
    }
  }
  return pod => {
    const owner = ownerSelector(pod)
    const found = allServices.inNamespace(pod.metadata.namespace ?? '').flatMap(({ spec }) => {
      const selector = spec?.selector === undefined ? undefined : selectorFrom(spec.selector)
      return selector?.matches(pod.metadata.labels) ? [selector] : []
    })
    if (found.length === 0) return owner
    return selectorOf(distinct([...found, owner]))
  }
}

const known = new WeakMap<Labels, Selector>()

/** Cached per version of the labels. */
function selectorFrom(labels: Labels | undefined): Selector {
  if (labels === undefined) return everything
  const selector = known.get(labels) ?? selectorFromLabels(labels)
  known.set(labels, selector)
  return selector
}

function distinct(selectors: readonly Selector[]): Selector['requirements'] {
  const requirements = selectors.flatMap(selector => selector.requirements)
  return [...new Map(requirements.map(each => [JSON.stringify(each), each])).values()]
}
