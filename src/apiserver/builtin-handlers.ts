/** The built-in resources, and the hooks and handlers of those that differ from others. */
import type { Resource } from '#/api/resource.ts'
import {
  mutatingAdmissionPolicyHooks,
  validatingAdmissionPolicyHooks,
  webhookConfigurationHooks,
} from './admission/admission-registration-hooks.ts'
import { enabledResources } from './api-enablement.ts'
import { customResourceDefinitionHooks } from './apiextensions/definition-hooks.ts'
import { serviceHooks } from './allocation/service-hooks.ts'
import { certificateRequestHooks } from './registry/certificate-request-hooks.ts'
import { deviceClassHooks, resourceClaimHooks, resourceClaimTemplateHooks } from './registry/device-hooks.ts'
import type { ResourceHooks } from './registry/hooks.ts'
import { binding } from './subresources/binding.ts'
import { eviction } from './subresources/eviction.ts'
import { scale } from './subresources/scale.ts'
import { componentStatuses } from './virtual/component-statuses.ts'
import { nodeMetrics, podMetrics } from './virtual/metrics-resources.ts'
import type { RouterOptions, VerbHandlers } from './router.ts'
import type { ApiServerOptions } from './api-server-options.ts'

/** The built-in resources, with the configured TTL for Events. */
export function resourcesOf(
  options: Pick<ApiServerOptions, 'eventTtlMs' | 'kubelets' | 'servesResourceMetrics' | 'enabledVersions'>,
): readonly Resource[] {
  const { eventTtlMs: ttlMs, kubelets, servesResourceMetrics = kubelets !== undefined } = options
  const resources = [
    ...enabledResources(options.enabledVersions),
    ...(servesResourceMetrics ? [nodeMetrics, podMetrics] : []),
  ]
  if (ttlMs === undefined) return resources
  return resources.map(resource =>
    resource.rules?.ttlMs === undefined ? resource : { ...resource, rules: { ...resource.rules, ttlMs } },
  )
}

/** Subresources with their own handlers that need no other server. */
export const subresources: RouterOptions['subresources'] = new Map<string, VerbHandlers>([
  ['*/scale', scale],
  ['pods/binding', binding],
  ['pods/eviction', eviction],
])

export const virtual: RouterOptions['virtual'] = new Map<string, VerbHandlers>([
  ['bindings', binding],
  ['componentstatuses', componentStatuses],
])

export const hooks: ReadonlyMap<string, ResourceHooks> = new Map([
  ['services', serviceHooks],
  ['certificatesigningrequests.certificates.k8s.io', certificateRequestHooks],
  ['customresourcedefinitions.apiextensions.k8s.io', customResourceDefinitionHooks],
  ['deviceclasses.resource.k8s.io', deviceClassHooks],
  ['mutatingadmissionpolicies.admissionregistration.k8s.io', mutatingAdmissionPolicyHooks],
  ['mutatingwebhookconfigurations.admissionregistration.k8s.io', webhookConfigurationHooks],
  ['resourceclaims.resource.k8s.io', resourceClaimHooks],
  ['resourceclaimtemplates.resource.k8s.io', resourceClaimTemplateHooks],
  ['validatingadmissionpolicies.admissionregistration.k8s.io', validatingAdmissionPolicyHooks],
  ['validatingwebhookconfigurations.admissionregistration.k8s.io', webhookConfigurationHooks],
])
