import type { Pod, PodResourceClaim, PodResourceClaimStatus } from '#/api/generated/core/v1.ts'
import type { ResourceClaim, ResourceClaimTemplate } from '#/api/generated/resource/v1.ts'
import { claimNameOf, isReservedFor, isUsableBy } from '#/api/pod-resource-claims.ts'
import { quote } from '#/api/quote.ts'

export interface PodClaimsWorld {
  readonly pod: Pod
  readonly claimNamed: (name: string) => ResourceClaim | undefined
  readonly templateNamed: (name: string) => ResourceClaimTemplate | undefined
  /** Claims that the pod is the controller of. */
  readonly owned: readonly ResourceClaim[]
}

/** What an entry of a pod lacks. */
export type EntryPlan =
  /** A claim was made, and the pod does not say so yet. */
  | { readonly entry: string; readonly action: 'tell'; readonly claim: string }
  | { readonly entry: string; readonly action: 'create'; readonly claim: ResourceClaim }
  /** Nothing can be done before somebody else does something. */
  | { readonly entry: string; readonly action: 'wait'; readonly problem: string }

/** What makes every entry of a pod stand for a claim; nothing for those that do. */
export function planEntries(world: PodClaimsWorld): readonly EntryPlan[] {
  return (world.pod.spec?.resourceClaims ?? []).flatMap(entry => planEntry(entry, world) ?? [])
}

function planEntry(
  entry: PodResourceClaim,
  { pod, claimNamed, templateNamed, owned }: PodClaimsWorld,
): EntryPlan | undefined {
  const { name, resourceClaimTemplateName: templateName } = entry
  const known = claimNameOf(pod, entry)
  if (templateName === undefined || known === 'not needed') return undefined
  if (known !== 'not made') {
    const claim = claimNamed(known.name)
    if (claim && isUsableBy(claim, pod, known.isGenerated)) return undefined
  }
  // One that was made in a pass that ended before it could be told.
  const made = owned.find(({ metadata }) => metadata?.annotations?.[entryAnnotation] === name)
  if (made) return { entry: name, action: 'tell', claim: made.metadata?.name ?? '' }
  const template = templateNamed(templateName)
  if (template) return { entry: name, action: 'create', claim: claimFrom(template, pod, name) }
  const missing = `resourceclaimtemplate.resource.k8s.io ${quote(templateName)} not found`
  return {
    entry: name,
    action: 'wait',
    problem: `resource claim template ${quote(templateName)}: ${missing}`,
  }
}

/** On a claim that was made of a template: for which entry of its pod. */
const entryAnnotation = 'resource.kubernetes.io/pod-claim-name'

function claimFrom({ spec }: ResourceClaimTemplate, pod: Pod, entry: string): ResourceClaim {
  const { namespace, name = '', uid = '' } = pod.metadata ?? {}
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

/** What the server puts behind it, and 63 characters in all, must fit. */
const generateNameMax = 57

/** A long name loses from the pod's and from the entry's part alike, so that both can be told. */
export function generateNameFor(pod: string, entry: string): string {
  const full = `${pod}-${entry}-`
  if (full.length <= generateNameMax) return full
  const part = (text: string): string =>
    text.slice(0, Math.floor((text.length * generateNameMax) / full.length))
  return `${part(pod)}-${part(entry)}`
}

/** What the pod says of its claims when these are made, by entry. */
export function statusesWith(pod: Pod, made: ReadonlyMap<string, string>): readonly PodResourceClaimStatus[] {
  const before = (pod.status?.resourceClaimStatuses ?? []).filter(({ name }) => !made.has(name))
  return [...before, ...[...made].map(([name, resourceClaimName]) => ({ name, resourceClaimName }))]
}

/**
 * The claims with devices of a pod that has its place, which nobody has reserved for it. Who places pods
 * does that, but one that is created on a node was never placed.
 */
export function planReservations({ pod, claimNamed }: PodClaimsWorld): readonly ResourceClaim[] {
  if (!pod.spec?.nodeName) return []
  return (pod.spec.resourceClaims ?? []).flatMap(entry => {
    const known = claimNameOf(pod, entry)
    const claim = typeof known === 'string' ? undefined : claimNamed(known.name)
    if (typeof known === 'string' || claim?.status?.allocation === undefined) return []
    return isUsableBy(claim, pod, known.isGenerated) && !isReservedFor(claim, pod) ? [claim] : []
  })
}

export function reservedFor(claim: ResourceClaim, pod: Pod): ResourceClaim {
  const { name = '', uid = '' } = pod.metadata ?? {}
  const consumers = [...(claim.status?.reservedFor ?? []), { resource: 'pods', name, uid }]
  return { ...claim, status: { ...claim.status, reservedFor: consumers } }
}
