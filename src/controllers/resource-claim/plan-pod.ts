import type { Pod, PodResourceClaim, PodResourceClaimStatus } from '#/api/generated/core/v1.ts'
import type { ResourceClaim, ResourceClaimTemplate } from '#/api/generated/resource/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { resourceClaimNameOf, isReservedFor, isClaimUsableByPod } from '#/api/core/pod-resource-claims.ts'
import { quote } from '#/api/text/quote.ts'

export interface PodClaimsWorld {
  readonly pod: Stored<Pod>
  readonly claimNamed: (name: string) => ResourceClaim | undefined
  readonly templateNamed: (name: string) => ResourceClaimTemplate | undefined
  /** Claims that have the pod as controller. */
  readonly owned: readonly Stored<ResourceClaim>[]
}

/** Action for one entry of the pod's `resourceClaims`. */
export type EntryPlan =
  /** The claim exists, but the pod's status does not name it yet. */
  | { readonly entry: string; readonly action: 'record'; readonly claim: string }
  | { readonly entry: string; readonly action: 'create'; readonly claim: ResourceClaim }
  /** The template does not exist yet. */
  | { readonly entry: string; readonly action: 'wait'; readonly problem: string }

/** The actions for entries without a usable claim. */
export function planEntries(world: PodClaimsWorld): readonly EntryPlan[] {
  return (world.pod.spec?.resourceClaims ?? []).flatMap(entry => planEntry(entry, world) ?? [])
}

function planEntry(
  entry: PodResourceClaim,
  { pod, claimNamed, templateNamed, owned }: PodClaimsWorld,
): EntryPlan | undefined {
  const { name, resourceClaimTemplateName: templateName } = entry
  const known = resourceClaimNameOf(pod, entry)
  if (templateName === undefined || known === 'not-needed') return undefined
  if (known !== 'pending') {
    const claim = claimNamed(known.name)
    if (claim && isClaimUsableByPod(claim, pod, known.isGenerated)) return undefined
  }
  // Created by an earlier reconcile that was interrupted before the status update.
  const made = owned.find(({ metadata }) => metadata.annotations?.[entryAnnotation] === name)
  if (made) return { entry: name, action: 'record', claim: made.metadata.name }
  const template = templateNamed(templateName)
  if (template) return { entry: name, action: 'create', claim: claimFrom(template, pod, name) }
  const missing = `resourceclaimtemplate.resource.k8s.io ${quote(templateName)} not found`
  return {
    entry: name,
    action: 'wait',
    problem: `resource claim template ${quote(templateName)}: ${missing}`,
  }
}

/** Set on generated claims: the entry of the pod's `resourceClaims`. */
const entryAnnotation = 'resource.kubernetes.io/pod-claim-name'

function claimFrom({ spec }: ResourceClaimTemplate, pod: Stored<Pod>, entry: string): ResourceClaim {
  const { namespace, name, uid } = pod.metadata
  const { labels, annotations } = spec.metadata ?? {}
  return {
    metadata: {
      ...(namespace && { namespace }),
      generateName: generateNameFor(name, entry),
      ...(labels && { labels }),
      annotations: { ...annotations, [entryAnnotation]: entry },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }],
    },
    spec: spec.spec,
  }
}

/** With the suffix that the API server appends, the name has at most 63 characters. */
const generateNameMax = 57

/** Truncates the pod's and the entry's name in proportion, so that both remain recognizable. */
export function generateNameFor(pod: string, entry: string): string {
  const full = `${pod}-${entry}-`
  if (full.length <= generateNameMax) return full
  const part = (text: string): string =>
    text.slice(0, Math.floor((text.length * generateNameMax) / full.length))
  return `${part(pod)}-${part(entry)}`
}

/** The pod's `resourceClaimStatuses` with the created claims, by entry. */
export function statusesWith(pod: Pod, made: ReadonlyMap<string, string>): readonly PodResourceClaimStatus[] {
  const before = (pod.status?.resourceClaimStatuses ?? []).filter(({ name }) => !made.has(name))
  return [...before, ...[...made].map(([name, resourceClaimName]) => ({ name, resourceClaimName }))]
}

/**
 * Allocated claims of a bound pod that are not reserved for it. The scheduler reserves claims, but a pod
 * created with `nodeName` bypasses it.
 */
export function planReservations({ pod, claimNamed }: PodClaimsWorld): readonly ResourceClaim[] {
  if (!pod.spec?.nodeName) return []
  return (pod.spec.resourceClaims ?? []).flatMap(entry => {
    const known = resourceClaimNameOf(pod, entry)
    const claim = typeof known === 'string' ? undefined : claimNamed(known.name)
    if (typeof known === 'string' || claim?.status?.allocation === undefined) return []
    return isClaimUsableByPod(claim, pod, known.isGenerated) && !isReservedFor(claim, pod) ? [claim] : []
  })
}

export function reservedFor(claim: ResourceClaim, pod: Stored<Pod>): ResourceClaim {
  const { name, uid } = pod.metadata
  const consumers = [...(claim.status?.reservedFor ?? []), { resource: 'pods', name, uid }]
  return { ...claim, status: { ...claim.status, reservedFor: consumers } }
}
