/**
 * Deletes the contents of terminating namespaces: pods first, since other objects may be needed until they
 * have stopped, then all other resources. Remaining objects and failures are reported as conditions; when
 * nothing remains, the finalizer is removed.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/
 */
import { isApiError } from '#/api/errors.ts'
import type { Namespace } from '#/api/generated/core/v1.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import { equalJson } from '#/api/json-value.ts'
import { isBeingDeleted, type KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { formatTime } from '#/api/time.ts'
import type { Client } from '#/client/client.ts'
import { discoverResources } from '#/client/discovery.ts'
import type { Controller, ControllerContext, Reconcile } from './controller.ts'
import { planConditions, type Remains } from './namespace/conditions.ts'

export const namespaceController: Controller = {
  name: 'namespace-controller',
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
async function empty(namespace: string, client: Client, signal: AbortSignal): Promise<Remains> {
  const failures: Remains['failures'][number][] = []
  const left: Remains['left'][number][] = []
  const kinds = await discoverResources(client, signal).catch((error: unknown) => {
    failures.push({ type: 'discovery', error })
    return []
  })
  const inside = kinds.filter(isEmptied)
  const isPods = ({ group, plural }: Resource): boolean => group === '' && plural === 'pods'
  for (const step of [inside.filter(isPods), inside.filter(kind => !isPods(kind))]) {
    await Promise.all(
      step.map(async resource => {
        try {
          const items = await emptyKind(resource, namespace, client, signal)
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

async function emptyKind(
  resource: Resource,
  namespace: string,
  client: Client,
  signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const list = async (): Promise<readonly KubernetesObject[]> => {
    return (await client.listAll(resource, { namespace, signal })).items
  }
  const found = await list()
  const stays = found.filter(object => !isBeingDeleted(object))
  if (found.length === 0) return found
  if (stays.length > 0) await removeAll(resource, namespace, stays, client, signal)
  return stays.length > 0 ? list() : found
}

async function removeAll(
  resource: Resource,
  namespace: string,
  objects: readonly KubernetesObject[],
  client: Client,
  signal: AbortSignal,
): Promise<void> {
  const propagationPolicy = 'Background'
  if (resource.verbs.includes('deletecollection')) {
    return client.deleteCollection(resource, { namespace, propagationPolicy, signal })
  }
  for (const { metadata } of objects) {
    try {
      await client.delete(resource, { namespace, name: metadata?.name ?? '' }, { propagationPolicy, signal })
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error
    }
  }
}

function isEmptied({ scope, verbs }: Resource): boolean {
  return scope === 'Namespaced' && verbs.includes('list') && verbs.includes('delete')
}

async function finalize(namespace: Namespace, client: Client, signal: AbortSignal): Promise<void> {
  const now = await client.find(namespaces, { name: namespace.metadata?.name ?? '' }, { signal })
  if (now === undefined || now.metadata?.uid !== namespace.metadata?.uid) return
  const finalizers = now.spec?.finalizers?.filter(each => each !== finalizer) ?? []
  const at = { name: now.metadata?.name ?? '', subresource: 'finalize' }
  try {
    await client.updateSubresource(namespaces, at, { ...now, spec: { ...now.spec, finalizers } }, { signal })
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
  }
}
