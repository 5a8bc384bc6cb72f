/** Creates and reconciles the bootstrap roles and bindings before the server accepts requests. */
import { isApiError } from '#/api/errors.ts'
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '#/api/generated/rbac/v1-resources.ts'
import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'
import type { Registry } from '../registry/registry.ts'
import { keyOf, prefixOf } from '../registry/store-keys.ts'
import { createObject } from '../registry/create-object.ts'
import { removeObject, updateObject } from '../registry/update-object.ts'
import { getStoredObject } from '../registry/get-stored-object.ts'
import type { FeatureGate } from '../api-enablement.ts'
import { bootstrapRoles } from './bootstrap-roles.ts'
import {
  nameKey,
  planBootstrap,
  type BootstrapStep,
  type ExistingRoles,
  type RbacObject,
} from './rbac/plan-bootstrap.ts'

export async function reconcileRoles(
  registry: Registry,
  featureGates: readonly FeatureGate[] = [],
): Promise<void> {
  const wanted = bootstrapRoles(featureGates)
  for (let attempts = 1; attempts <= attemptsMax; attempts++) {
    const plan = planBootstrap(wanted, readExisting(registry))
    if (plan.length === 0) return
    await perform(registry, plan)
    await registry.cache.waitForLatest()
  }
  throw new Error('failed to reconcile bootstrap roles: too many conflicts')
}

/** Maximum number of conflicts with other API servers that do the same. */
const attemptsMax = 10

function readExisting({ cache }: Registry): ExistingRoles {
  const read = <T extends RbacObject>(resource: Resource<T>): ReadonlyMap<string, T> => {
    return new Map(
      [...cache.list(prefixOf(resource as Resource, ''))].map(stored => {
        const object = stored.object as Stored<T>
        return [nameKey(object), object]
      }),
    )
  }
  return {
    clusterRoles: read(clusterRoles),
    clusterRoleBindings: read(clusterRoleBindings),
    roles: read(roles),
    roleBindings: read(roleBindings),
  }
}

/** Writes in parallel, so that the store can batch them. */
async function perform(registry: Registry, plan: readonly BootstrapStep[]): Promise<void> {
  await Promise.all(
    plan.map(async step => {
      try {
        await performStep(registry, step)
      } catch (error) {
        // Lost a race; the next plan contains what is still missing.
        const isRace = races.some(reason => isApiError(error, reason))
        if (!isRace) throw error
      }
    }),
  )
}

const races = ['AlreadyExists', 'Conflict', 'NotFound'] as const

const resources: ReadonlyMap<string, Resource> = new Map<string, Resource>([
  ['ClusterRole', clusterRoles],
  ['ClusterRoleBinding', clusterRoleBindings],
  ['Role', roles],
  ['RoleBinding', roleBindings],
])

async function performStep(registry: Registry, { action, object: planned }: BootstrapStep): Promise<void> {
  const object = planned as KubernetesObject
  const resource = resources.get(object.kind ?? '')!
  const { name = '', namespace = '' } = object.metadata
  const request = systemWriteRequest(resource, name, namespace)
  if (action === 'update') {
    await updateObject(registry, request, { change: () => object })
    return
  }
  if (action === 'replace') {
    const stored = await getStoredObject(registry, keyOf(resource, namespace, name))
    if (stored) await removeObject(registry, request, stored)
  }
  await createObject(registry, request, object)
}
