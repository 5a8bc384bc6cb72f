/**
 * A cluster for authorization tests: objects in a memory store with the bootstrap roles, without an API
 * server.
 */
import type { TestContext } from 'node:test'
import { assert } from '#/base/assert.ts'
import { defaultResources } from '#/api/builtin.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { Scheme } from '#/api/scheme.ts'
import { nodePlatform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'
import { AdmissionChain } from '../admission/admission-chain.ts'
import { systemWriteRequest } from '../registry/system-write-request.ts'
import {
  createAuthz,
  defaultAuthorizers,
  reconcileRoles,
  type AuthorizerSettings,
  type Authz,
} from '../authz.ts'
import { WatchCache } from '../registry/watch-cache.ts'
import type { Registry } from '../registry/registry.ts'
import { keyOf, storeRoot } from '../registry/store-keys.ts'
import { createObject } from '../registry/create-object.ts'
import { removeObject, updateObject } from '../registry/update-object.ts'
import { getStoredObject } from '../registry/get-stored-object.ts'
import type { WriteRequest } from '../registry/write-request.ts'
import type { UserInfo } from '../request.ts'
import type { Attributes } from './authorizer.ts'

export interface TestCluster extends Authz {
  readonly registry: Registry
  /** Created by the system, or by a user without the request pipeline. */
  readonly create: (object: KubernetesObject, user?: UserInfo) => Promise<KubernetesObject>
  readonly update: (object: KubernetesObject, user?: UserInfo) => Promise<KubernetesObject>
  readonly remove: (object: KubernetesObject) => Promise<void>
  /**
   * Questions are `get pods/log.apps team/web` or `get /healthz`; a namespace without name ends with a slash.
   */
  readonly may: (user: UserInfo, question: string) => Promise<boolean>
}

interface Options {
  readonly authorizers?: readonly AuthorizerSettings[]
  readonly withoutRoles?: boolean
}

export async function startTestCluster(
  t: Pick<TestContext, 'after'>,
  options: Options = {},
): Promise<TestCluster> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const store = await MemoryStore.open({ platform })
  const cache = new WatchCache({ store, platform, prefix: storeRoot })
  const authz = createAuthz({ cache, platform, authorizers: options.authorizers ?? defaultAuthorizers })
  const scheme = new Scheme(defaultResources())
  const registry: Registry = {
    platform,
    scheme,
    store,
    cache,
    hooks: new Map(),
    watches: new Set(),
    admission: new AdmissionChain([authz.escalation]),
  }
  const stopping = new AbortController()
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  const running = cache.run(stopping.signal, resolve)
  t.after(async () => {
    stopping.abort()
    await running
    await store[Symbol.asyncDispose]()
  })
  await ready
  if (!options.withoutRoles) await reconcileRoles(registry)
  return { ...authz, registry, ...writesTo(registry), may: (user, question) => ask(authz, user, question) }
}

function writesTo(registry: Registry): Pick<TestCluster, 'create' | 'update' | 'remove'> {
  const written = async (work: Promise<KubernetesObject>): Promise<KubernetesObject> => {
    const object = await work
    await registry.cache.waitForLatest()
    return object
  }
  return {
    create: (object, user) => {
      const request = requestFor(registry, object, user)
      return written(createObject(registry, request, object).then(stored => stored.object))
    },
    update: (object, user) => {
      const request = requestFor(registry, object, user)
      return written(
        updateObject(registry, request, { change: () => object }).then(({ stored }) => stored.object),
      )
    },
    remove: async object => {
      const { resource, namespace, name } = requestFor(registry, object)
      const stored = await getStoredObject(registry, keyOf(resource, namespace, name))
      assert(stored !== undefined, 'the removed object exists')
      await removeObject(registry, { resource }, stored)
      await registry.cache.waitForLatest()
    },
  }
}

function requestFor({ scheme }: Registry, object: KubernetesObject, user?: UserInfo): WriteRequest {
  const { name = '', namespace = '' } = object.metadata
  const groupVersion = parseGroupVersion(object.apiVersion ?? '')
  const resource: Resource | undefined =
    groupVersion && scheme.byKind({ ...groupVersion, kind: object.kind ?? '' })
  assert(resource !== undefined, `no resource for ${object.kind}`)
  return { ...systemWriteRequest(resource, name, namespace), ...(user && { user }) }
}

async function ask({ authorizer }: Authz, user: UserInfo, question: string): Promise<boolean> {
  const { decision } = await authorizer.authorize(readQuestion(user, question))
  return decision === 'allow'
}

/** `verb path`, or `verb resource[/subresource][.group] [namespace/][name]`. */
export function readQuestion(user: UserInfo, question: string): Attributes {
  const [verb = '', what = '', where = ''] = question.split(' ')
  if (what.startsWith('/')) return { user, isResource: false, verb, path: what }
  const dot = what.indexOf('.')
  const [resource = '', subresource = ''] = (dot === -1 ? what : what.slice(0, dot)).split('/')
  const slash = where.indexOf('/')
  return {
    user,
    isResource: true,
    verb,
    resource,
    subresource,
    version: '*',
    group: dot === -1 ? '' : what.slice(dot + 1),
    namespace: where.slice(0, Math.max(0, slash)),
    name: where.slice(slash + 1),
  }
}
