/**
 * Deletes the contents of terminating namespaces: pods first, since other objects may be needed until they
 * have stopped, then all other resources. Remaining objects and failures are reported as conditions; when
 * nothing remains, the finalizer is removed.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
 */
import { isApiError } from '#/api/errors.ts'
import type { Namespace, NamespaceCondition } from '#/api/generated/core/v1.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/text/json-value.ts'
import { isBeingDeleted, type KubernetesObject, type Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import { discoverApi } from '#/client/discovery.ts'
import { withCondition } from '#/api/conditions.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { messageOf } from '#/base/message-of.ts'

export const namespaceController: Controller = {
  name: 'namespace-controller',
  queueName: 'namespace',
  account: 'namespace-controller',
  workers: 10,
  setUp,
}

const finalizer = 'kubernetes'

/** Backoff for checking remaining objects, such as terminating pods. */
const lookAgainMs = { first: 200, max: 5_000 }

function setUp({ platform, informer, enqueue }: ControllerContext): Reconcile {
  const { clock } = platform
  const all = informer(namespaces)
  /** Number of checks that found remaining objects, by namespace. */
  const looks = new Map<string, number>()
  all.addEventHandler((key, { oldObject, newObject }) => {
    if (newObject === undefined) looks.delete(key)
    else if (isBeingDeleted(newObject) && !(oldObject !== undefined && isBeingDeleted(oldObject)))
      enqueue(key)
  })

  return async ({ key, client, signal }) => {
    const namespace = all.get(key)
    if (namespace === undefined || !isBeingDeleted(namespace)) return undefined
    if (!namespace.spec?.finalizers?.includes(finalizer)) return undefined
    const remains = await empty(key, client, signal)
    const conditions = planConditions(namespace, remains, formatTime(clock.now()))
    if (!equalJson(conditions, namespace.status?.conditions)) {
      const status = { ...namespace.status, conditions }
      await client.updateStatus(namespaces, { ...namespace, status }, { signal })
    }
    if (remains.left.length === 0 && remains.failures.length === 0) {
      looks.delete(key)
      return finalize(namespace, client, signal)
    }
    const times = looks.get(key) ?? 0
    looks.set(key, times + 1)
    return { requeueAfterMs: Math.min(lookAgainMs.max, lookAgainMs.first * 2 ** Math.min(times, 10)) }
  }
}

/** Deletes all objects in the namespace that are not being deleted already. Returns those that remain. */
async function empty(namespace: string, client: Client, signal: AbortSignal): Promise<RemainingContent> {
  const failures: Failure[] = []
  const left: RemainingContent['left'][number][] = []
  const discovered = await discoverApi(client, signal).catch((error: unknown) => {
    failures.push({ type: 'discovery', error })
    return { resources: [], staleGroupVersions: [] }
  })
  const stale = discovered.staleGroupVersions
  if (stale.length > 0) {
    failures.push({ type: 'discovery', error: staleDiscovery(stale), count: stale.length })
  }
  const inside = discovered.resources.filter(isEmptied)
  const isPods = ({ group, plural }: Resource): boolean => group === '' && plural === 'pods'
  for (const step of [inside.filter(isPods), inside.filter(kind => !isPods(kind))]) {
    await Promise.all(
      step.map(async resource => {
        try {
          const items = await emptyKind({ resource, namespace, client, signal })
          if (items.length > 0) left.push({ resource, items })
        } catch (error) {
          failures.push({ type: 'content', error })
        }
      }),
    )
    if (left.length > 0) break
  }
  return { left, failures }
}

/** The namespace must not go before the objects that only an extension server knows. */
function staleDiscovery(groupVersions: readonly string[]): Error {
  const causes = groupVersions.map(each => `${each}: stale GroupVersion discovery: ${each}`).toSorted()
  return new Error(`unable to retrieve the complete list of server APIs: ${causes.join(', ')}`)
}

interface KindInNamespace {
  readonly resource: Resource
  readonly namespace: string
  readonly client: Client
  readonly signal: AbortSignal
}

async function emptyKind(kind: KindInNamespace): Promise<readonly KubernetesObject[]> {
  const { resource, namespace, client, signal } = kind
  const list = async (): Promise<readonly Stored[]> => {
    return (await client.listAll(resource, { namespace, signal })).items
  }
  const found = await list()
  const stays = found.filter(object => !isBeingDeleted(object))
  if (found.length === 0) return found
  if (stays.length > 0) await removeAll(stays, kind)
  return stays.length > 0 ? list() : found
}

async function removeAll(
  objects: readonly Stored[],
  { resource, namespace, client, signal }: KindInNamespace,
): Promise<void> {
  const propagationPolicy = 'Background'
  if (resource.verbs.includes('deletecollection')) {
    return client.deleteCollection(resource, { namespace, propagationPolicy, signal })
  }
  for (const { metadata } of objects) {
    try {
      await client.delete(resource, { namespace, name: metadata.name }, { propagationPolicy, signal })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

function isEmptied({ scope, verbs }: Resource): boolean {
  return scope === 'Namespaced' && verbs.includes('list') && verbs.includes('delete')
}

async function finalize(namespace: Stored<Namespace>, client: Client, signal: AbortSignal): Promise<void> {
  const now = await client.find(namespaces, { name: namespace.metadata.name }, { signal })
  if (now === undefined || now.metadata.uid !== namespace.metadata.uid) return
  const finalizers = now.spec?.finalizers?.filter(each => each !== finalizer) ?? []
  const at = { name: now.metadata.name, subresource: 'finalize' }
  try {
    await client.updateSubresource(namespaces, at, { ...now, spec: { ...now.spec, finalizers } }, { signal })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}

interface Failure {
  readonly type: 'discovery' | 'content'
  readonly error: unknown
  /** Number of group versions concerned; one when absent. */
  readonly count?: number
}

/** Remaining objects of a terminating namespace, and failures. */
interface RemainingContent {
  readonly left: readonly { readonly resource: Resource; readonly items: readonly KubernetesObject[] }[]
  readonly failures: readonly Failure[]
}

interface ConditionProblem {
  readonly type: string
  readonly reason: string
  readonly problem: string | undefined
  readonly well: readonly [reason: string, message: string]
}

/** Conditions of a terminating namespace. A condition is added when its problem first occurs. */
function planConditions(
  namespace: Namespace,
  remains: RemainingContent,
  now: string,
): readonly NamespaceCondition[] | undefined {
  let conditions = namespace.status?.conditions
  for (const { type, reason, problem, well } of conditionProblems(remains)) {
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

function conditionProblems({ left, failures }: RemainingContent): readonly ConditionProblem[] {
  const failed = (type: string): string | undefined => {
    const failed = failures.filter(failure => failure.type === type)
    if (failed.length === 0) return undefined
    const count = failed.reduce((sum, each) => sum + (each.count ?? 1), 0)
    return `${prefixes.get(type)?.(count)}: ${failed.map(({ error }) => messageOf(error)).join(', ')}`
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

const prefixes: ReadonlyMap<string, (count: number) => string> = new Map([
  ['discovery', count => `Discovery failed for some groups, ${count} failing`],
  ['content', count => `Failed to delete all resource types, ${count} remaining`],
])

function remaining(left: RemainingContent['left']): string | undefined {
  if (left.length === 0) return undefined
  const parts = left.map(({ resource, items }) => {
    return `${resource.plural}.${resource.group} has ${items.length} resource instances`
  })
  return `Some resources are remaining: ${parts.toSorted().join(', ')}`
}

function finalizersLeft(left: RemainingContent['left']): string | undefined {
  const counts = new Map<string, number>()
  for (const finalizer of left.flatMap(({ items }) =>
    items.flatMap(item => item.metadata.finalizers ?? []),
  )) {
    counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1)
  }
  if (counts.size === 0) return undefined
  const parts = [...counts].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`)
  return `Some content in the namespace has finalizers remaining: ${parts.toSorted().join(', ')}`
}
