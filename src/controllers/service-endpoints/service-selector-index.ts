import type { Pod, Service } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { labelOf, type Labels } from '#/api/labels.ts'
import { keyOf, type Stored } from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'
import type { Index } from '#/client/indexer.ts'
import { isPodTerminal, isPodReady } from '../pods.ts'

/**
 * Maps services to selected pods and back. Both directions use a label index, so that a pod change costs a
 * few lookups even with thousands of pods.
 */
export class ServiceSelectorIndex {
  readonly #pods: Informer<Pod>
  readonly #podsByLabel: Index<Stored<Pod>>
  readonly #servicesByLabel: Index<Stored<Service>>

  constructor({ services, pods }: { readonly services: Informer<Service>; readonly pods: Informer<Pod> }) {
    this.#pods = pods
    this.#podsByLabel = pods.index('label', ({ metadata }) =>
      labelValues(metadata.namespace, metadata.labels),
    )
    // One label of the selector suffices to find the service.
    this.#servicesByLabel = services.index('selector', service => {
      return labelValues(service.metadata.namespace, selectorOf(service)).slice(0, 1)
    })
  }

  podsOf(service: Service): readonly Stored<Pod>[] {
    const selector = selectorOf(service)
    const candidates = labelValues(service.metadata.namespace, selector)
      .map(value => this.#podsByLabel.get(value))
      .reduce((few, other) => (other.length < few.length ? other : few))
    return candidates.filter(pod => isSelected(selector, pod.metadata.labels))
  }

  /** Keys of the services that select the pod. */
  servicesOf({ metadata }: Pod): readonly string[] {
    return labelValues(metadata.namespace, metadata.labels)
      .flatMap(value => this.#servicesByLabel.get(value))
      .filter(service => isSelected(selectorOf(service), metadata.labels))
      .map(keyOf)
  }

  /** Calls back with the keys of services when their endpoints may have changed. */
  enqueueOnChange(enqueue: (serviceKey: string) => void): void {
    this.#pods.addEventHandler((_key, { oldObject, newObject }) => {
      if (oldObject !== undefined && newObject !== undefined && hasSameEndpoint(oldObject, newObject)) return
      if (newObject !== undefined) this.servicesOf(newObject).forEach(enqueue)
      if (oldObject !== undefined) this.servicesOf(oldObject).forEach(enqueue)
    })
  }
}

/** True if the service has a selector; otherwise this controller does not manage its endpoints. */
export function hasSelector(service: Service): boolean {
  return service.spec?.type !== 'ExternalName' && Object.keys(selectorOf(service)).length > 0
}

function selectorOf({ spec }: Service): Labels {
  return spec?.selector ?? {}
}

function labelValues(namespace = '', labels: Labels = {}): readonly string[] {
  return Object.entries(labels).map(([key, value]) => `${namespace}/${key}=${value}`)
}

function isSelected(selector: Labels, labels: Labels | undefined): boolean {
  for (const key in selector) if (labelOf(labels, key) !== selector[key]) return false
  return true
}

/** True for most pod changes, such as container status, which do not affect endpoints. */
function hasSameEndpoint(before: Pod, after: Pod): boolean {
  return (
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    before.spec?.nodeName === after.spec?.nodeName &&
    before.spec?.hostname === after.spec?.hostname &&
    before.spec?.subdomain === after.spec?.subdomain &&
    isPodReady(before) === isPodReady(after) &&
    isPodTerminal(before) === isPodTerminal(after) &&
    equalJson(before.status?.podIPs, after.status?.podIPs) &&
    equalJson(before.metadata.labels, after.metadata.labels)
  )
}
