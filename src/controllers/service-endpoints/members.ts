import type { Pod, Service } from '#/api/generated/core/v1.ts'
import { equalJson } from '#/api/json-value.ts'
import { labelOf, type Labels } from '#/api/labels.ts'
import { keyOf } from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'
import type { ObjectIndex } from '#/client/object-store.ts'
import { isPodFinished, isPodReady } from '../pods.ts'

/**
 * Which pods a service selects, and which services select a pod. Both are found by a label, so that a
 * change of one of ten thousand pods costs a few lookups.
 */
export class ServiceMembers {
  readonly #pods: Informer<Pod>
  readonly #podsByLabel: ObjectIndex<Pod>
  readonly #servicesByLabel: ObjectIndex<Service>

  constructor({ services, pods }: { readonly services: Informer<Service>; readonly pods: Informer<Pod> }) {
    this.#pods = pods
    this.#podsByLabel = pods.index('label', ({ metadata }) =>
      labelValues(metadata?.namespace, metadata?.labels),
    )
    // One label of the selector is enough to find the service by.
    this.#servicesByLabel = services.index('selector', service => {
      return labelValues(service.metadata?.namespace, selectorOf(service)).slice(0, 1)
    })
  }

  podsOf(service: Service): readonly Pod[] {
    const selector = selectorOf(service)
    const candidates = labelValues(service.metadata?.namespace, selector)
      .map(value => this.#podsByLabel.get(value))
      .reduce((few, other) => (other.length < few.length ? other : few))
    return candidates.filter(pod => isSelected(selector, pod.metadata?.labels))
  }

  /** The keys of the services. */
  servicesOf({ metadata }: Pod): readonly string[] {
    return labelValues(metadata?.namespace, metadata?.labels)
      .flatMap(value => this.#servicesByLabel.get(value))
      .filter(service => isSelected(selectorOf(service), metadata?.labels))
      .map(keyOf)
  }

  /** Told the key of each service of which an endpoint may have come, gone or changed. */
  onChange(wake: (serviceKey: string) => void): void {
    this.#pods.onChange((_key, { before, after }) => {
      if (before !== undefined && after !== undefined && isSameMember(before, after)) return
      if (after !== undefined) this.servicesOf(after).forEach(wake)
      if (before !== undefined) this.servicesOf(before).forEach(wake)
    })
  }
}

/** Whether pods are looked for at all: who has no selector gets endpoints from somebody else. */
export function hasMembers(service: Service): boolean {
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

/** Most changes of a pod, such as those of its containers, change no endpoint. */
function isSameMember(before: Pod, after: Pod): boolean {
  return (
    before.metadata?.deletionTimestamp === after.metadata?.deletionTimestamp &&
    before.spec?.nodeName === after.spec?.nodeName &&
    before.spec?.hostname === after.spec?.hostname &&
    before.spec?.subdomain === after.spec?.subdomain &&
    isPodReady(before) === isPodReady(after) &&
    isPodFinished(before) === isPodFinished(after) &&
    equalJson(before.status?.podIPs, after.status?.podIPs) &&
    equalJson(before.metadata?.labels, after.metadata?.labels)
  )
}
