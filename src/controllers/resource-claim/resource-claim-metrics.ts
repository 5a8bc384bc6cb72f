import type { MetricsRegistry, ScalarMetric } from '#/base/metrics.ts'
import type { ResourceClaim } from '#/api/generated/resource/v1.ts'

/** Registers the `resourceclaim_controller_*` metrics; `list` is called at each scrape. Returns the creations. */
export function resourceClaimMetrics(
  registry: MetricsRegistry,
  list: () => Iterable<ResourceClaim>,
): ScalarMetric {
  const stability = 'ALPHA'
  registry.callbackMetric({
    name: 'resourceclaim_controller_resource_claims',
    help: 'ResourceClaims by allocation, admin access and origin.',
    type: 'gauge',
    labels: ['allocated', 'admin_access', 'source'],
    stability,
    read: () => {
      const counts = new Map<string, [string[], number]>()
      for (const claim of list()) {
        const isAllocated = claim.status?.allocation !== undefined
        const labels = [String(isAllocated), String(hasAdminAccess(claim)), sourceOf(claim)]
        counts.getOrInsertComputed(labels.join(), () => [labels, 0])[1]++
      }
      return counts.values()
    },
  })
  return registry.counter({
    name: 'resourceclaim_controller_creates_total',
    help: 'ResourceClaims created from templates.',
    labels: ['status', 'admin_access'],
    stability,
  })
}

export function hasAdminAccess({ spec }: ResourceClaim): boolean {
  return spec.devices?.requests?.some(({ exactly }) => exactly?.adminAccess === true) ?? false
}

function sourceOf({ metadata: { annotations = {} } }: ResourceClaim): string {
  if (annotations['resource.kubernetes.io/pod-claim-name'] !== undefined) return 'resource_claim_template'
  return annotations['resource.kubernetes.io/extended-resource-claim'] === 'true' ? 'extended_resource' : ''
}
