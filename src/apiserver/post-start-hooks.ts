/**
 * The steps of the API server's start, under the names of upstream's post-start hooks, which `/readyz?verbose` shows.
 * A check fails until its step has finished.
 */
import type { HealthCheck } from './health.ts'

export type PostStartHook = (typeof hooks)[number] | (typeof flowControlHooks)[number]

const hooks = [
  'start-apiserver-admission-initializer',
  'generic-apiserver-start-informers',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'start-apiextensions-controllers',
  'crd-informer-synced',
  'start-system-namespaces-controller',
  'start-cluster-authentication-info-controller',
  'storage-readiness',
  'start-legacy-token-tracking-controller',
  'start-service-ip-repair-controllers',
  'rbac/bootstrap-roles',
  'scheduling/bootstrap-system-priority-classes',
  'bootstrap-controller',
  'start-kubernetes-service-cidr-controller',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
  'start-kube-aggregator-informers',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'apiservice-registration-controller',
  'apiservice-discovery-controller',
  'kube-apiserver-autoregistration',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
] as const

/** Only with priority and fairness. */
const flowControlHooks = [
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-filter',
  'priority-and-fairness-config-producer',
] as const

/** Finished when the watch cache is synchronized. */
export const watchCacheHooks: readonly PostStartHook[] = [
  'generic-apiserver-start-informers',
  'storage-readiness',
  'storage-object-count-tracker-hook',
  'start-apiextensions-informers',
  'priority-and-fairness-config-consumer',
  'priority-and-fairness-filter',
]

/** Finished when the control loops of the API server run. */
export const controllerHooks: readonly PostStartHook[] = [
  'apiservice-discovery-controller',
  'apiservice-openapi-controller',
  'apiservice-openapiv3-controller',
  'apiservice-status-local-available-controller',
  'apiservice-status-remote-available-controller',
  'start-apiextensions-controllers',
  'start-service-ip-repair-controllers',
  'start-kube-apiserver-identity-lease-controller',
  'start-kube-apiserver-identity-lease-garbage-collector',
]

export interface PostStartHooksOptions {
  readonly hasFlowControl: boolean
}

export class PostStartHooks {
  readonly #finished = new Set<string>()

  finish(...finished: readonly PostStartHook[]): void {
    for (const hook of finished) this.#finished.add(hook)
  }

  checks({ hasFlowControl }: PostStartHooksOptions): readonly HealthCheck[] {
    const checkOf = (name: string, hook: PostStartHook): HealthCheck => ({
      name,
      endpoints: ['healthz', 'livez', 'readyz'],
      check: () => {
        if (!this.#finished.has(hook)) throw new Error('not finished')
      },
    })
    return [
      ...[...hooks, ...(hasFlowControl ? flowControlHooks : [])].map(hook =>
        checkOf(`poststarthook/${hook}`, hook),
      ),
      checkOf('autoregister-completion', 'kube-apiserver-autoregistration'),
    ]
  }
}
