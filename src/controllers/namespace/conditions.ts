import { messageOf } from '#/base/message-of.ts'
import { withCondition } from '#/api/conditions.ts'
import type { Namespace, NamespaceCondition } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'

/** Remaining objects of a terminating namespace, and failures. */
export interface Remains {
  readonly left: readonly { readonly resource: Resource; readonly items: readonly KubernetesObject[] }[]
  readonly failures: readonly { readonly type: 'discovery' | 'content'; readonly error: unknown }[]
}

interface Said {
  readonly type: string
  readonly reason: string
  readonly problem: string | undefined
  readonly well: readonly [reason: string, message: string]
}

/** Conditions of a terminating namespace. A condition is added when its problem first occurs. */
export function planConditions(
  namespace: Namespace,
  remains: Remains,
  now: string,
): readonly NamespaceCondition[] | undefined {
  let conditions = namespace.status?.conditions
  for (const { type, reason, problem, well } of said(remains)) {
    const [wellReason, wellMessage] = well
    conditions = withCondition(conditions, {
      type,
      status: problem === undefined ? 'False' : 'True',
      reason: problem === undefined ? wellReason : reason,
      message: problem ?? wellMessage,
      lastTransitionTime: now,
    })
  }
  return conditions
}

function said({ left, failures }: Remains): readonly Said[] {
  const failed = (type: string): string | undefined => {
    const errors = failures.filter(failure => failure.type === type).map(({ error }) => messageOf(error))
    return errors.length === 0 ? undefined : `${prefixes.get(type)}: ${errors.join(', ')}`
  }
  return [
    {
      type: 'NamespaceDeletionDiscoveryFailure',
      reason: 'DiscoveryFailed',
      problem: failed('discovery'),
      well: ['ResourcesDiscovered', 'All resources successfully discovered'],
    },
    {
      type: 'NamespaceDeletionGroupVersionParsingFailure',
      reason: 'GroupVersionParsingFailed',
      problem: undefined,
      well: ['ParsedGroupVersions', 'All legacy kube types successfully parsed'],
    },
    {
      type: 'NamespaceDeletionContentFailure',
      reason: 'ContentDeletionFailed',
      problem: failed('content'),
      well: ['ContentDeleted', 'All content successfully deleted, may be waiting on finalization'],
    },
    {
      type: 'NamespaceContentRemaining',
      reason: 'SomeResourcesRemain',
      problem: remaining(left),
      well: ['ContentRemoved', 'All content successfully removed'],
    },
    {
      type: 'NamespaceFinalizersRemaining',
      reason: 'SomeFinalizersRemain',
      problem: finalizersLeft(left),
      well: ['ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
    },
  ]
}

const prefixes: ReadonlyMap<string, string> = new Map([
  ['discovery', 'Discovery failed for some groups, 1 failing'],
  ['content', 'Failed to delete all resource types, 1 remaining'],
])

function remaining(left: Remains['left']): string | undefined {
  if (left.length === 0) return undefined
  const parts = left.map(({ resource, items }) => {
    return `${resource.plural}.${resource.group} has ${items.length} resource instances`
  })
  return `Some resources are remaining: ${parts.toSorted().join(', ')}`
}

function finalizersLeft(left: Remains['left']): string | undefined {
  const counts = new Map<string, number>()
  for (const finalizer of left.flatMap(({ items }) =>
    items.flatMap(item => item.metadata?.finalizers ?? []),
  )) {
    counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1)
  }
  if (counts.size === 0) return undefined
  const parts = [...counts].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`)
  return `Some content in the namespace has finalizers remaining: ${parts.toSorted().join(', ')}`
}
