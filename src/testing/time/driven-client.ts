import type { Client } from '#/client/client.ts'
import type { TestTime } from './test-time.ts'

/** A client that runs the cluster while a call is in progress. Watches do not run it. */
export function drivenClient(client: Client, { drive }: TestTime): Client {
  return {
    get: (resource, at, options) => drive(client.get(resource, at, options)),
    find: (resource, at, options) => drive(client.find(resource, at, options)),
    list: (resource, options) => drive(client.list(resource, options)),
    listAll: (resource, options) => drive(client.listAll(resource, options)),
    watch: (resource, options) => client.watch(resource, options),
    watchBatches: (resource, options) => client.watchBatches(resource, options),
    create: (resource, object, options) => drive(client.create(resource, object, options)),
    update: (resource, object, options) => drive(client.update(resource, object, options)),
    updateStatus: (resource, object, options) => drive(client.updateStatus(resource, object, options)),
    patch: (resource, at, patch, options) => drive(client.patch(resource, at, patch, options)),
    apply: (resource, object, options) => drive(client.apply(resource, object, options)),
    delete: (resource, at, options) => drive(client.delete(resource, at, options)),
    deleteCollection: (resource, options) => drive(client.deleteCollection(resource, options)),
    getSubresource: (resource, at, options) => drive(client.getSubresource(resource, at, options)),
    createSubresource: (resource, at, value, options) => {
      return drive(client.createSubresource(resource, at, value, options))
    },
    updateSubresource: (resource, at, value, options) => {
      return drive(client.updateSubresource(resource, at, value, options))
    },
    raw: request => drive(client.raw(request)),
  }
}
