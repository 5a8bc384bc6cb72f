import type { Client } from '#/client/client.ts'
import type { HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'

/** Clock control of a test cluster, with virtual or real time. */
export interface TestTime {
  readonly platform: Platform
  readonly isReal: boolean
  /** For calls of webhooks; there is no network in virtual time. */
  readonly connectHttp?: HttpConnect
  /** Runs the cluster until the promise settles. */
  readonly runUntil: <T>(promise: Promise<T>) => Promise<T>
  advance(ms: number): Promise<void>
  /** Runs the cluster until the condition has held for a while. Returns false after the timeout. */
  settle(isIdle: () => boolean, withinMs: number): Promise<boolean>
  /** Default timeout of `settle`. */
  readonly settleMsUsual: number
}

/** A client that runs the cluster while a call is in progress. Watches do not run it. */
export function drivenClient(client: Client, { runUntil }: TestTime): Client {
  return {
    get: (resource, at, options) => runUntil(client.get(resource, at, options)),
    find: (resource, at, options) => runUntil(client.find(resource, at, options)),
    list: (resource, options) => runUntil(client.list(resource, options)),
    listAll: (resource, options) => runUntil(client.listAll(resource, options)),
    watch: (resource, options) => client.watch(resource, options),
    watchBatches: (resource, options) => client.watchBatches(resource, options),
    create: (resource, object, options) => runUntil(client.create(resource, object, options)),
    update: (resource, object, options) => runUntil(client.update(resource, object, options)),
    updateStatus: (resource, object, options) => runUntil(client.updateStatus(resource, object, options)),
    patch: (resource, at, patch, options) => runUntil(client.patch(resource, at, patch, options)),
    apply: (resource, object, options) => runUntil(client.apply(resource, object, options)),
    delete: (resource, at, options) => runUntil(client.delete(resource, at, options)),
    deleteCollection: (resource, options) => runUntil(client.deleteCollection(resource, options)),
    getSubresource: (resource, at, options) => runUntil(client.getSubresource(resource, at, options)),
    createSubresource: (resource, at, value, options) => {
      return runUntil(client.createSubresource(resource, at, value, options))
    },
    updateSubresource: (resource, at, value, options) => {
      return runUntil(client.updateSubresource(resource, at, value, options))
    },
    raw: request => runUntil(client.raw(request)),
  }
}
