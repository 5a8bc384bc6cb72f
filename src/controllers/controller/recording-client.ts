import type { KubernetesObject, Stored } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import type { WriteBarrier } from './write-barrier.ts'

/** A client that records its writes for a work queue key. */
export function recordingClient(client: Client, writes: WriteBarrier, key: string): Client {
  const recording = async <T extends KubernetesObject>(
    resource: Resource,
    writing: Promise<Stored<T>>,
  ): Promise<Stored<T>> => {
    const object = await writing
    writes.recordWrite(key, resource, object)
    return object
  }
  return {
    get: (resource, at, options) => client.get(resource, at, options),
    find: (resource, at, options) => client.find(resource, at, options),
    list: (resource, options) => client.list(resource, options),
    listAll: (resource, options) => client.listAll(resource, options),
    watch: (resource, options) => client.watch(resource, options),
    watchBatches: (resource, options) => client.watchBatches(resource, options),
    create: (resource, object, options) => recording(resource, client.create(resource, object, options)),
    update: (resource, object, options) => recording(resource, client.update(resource, object, options)),
    updateStatus: (resource, object, options) => {
      return recording(resource, client.updateStatus(resource, object, options))
    },
    patch: (resource, at, patch, options) => recording(resource, client.patch(resource, at, patch, options)),
    apply: (resource, object, options) => recording(resource, client.apply(resource, object, options)),
    delete: async (resource, at, options) => {
      const left = await client.delete(resource, at, options)
      const uid = options?.preconditions?.uid ?? left?.metadata.uid
      writes.recordDelete(key, resource, {
        name: at.name,
        ...(at.namespace && { namespace: at.namespace }),
        ...(uid && { uid }),
      })
      return left
    },
    deleteCollection: (resource, options) => client.deleteCollection(resource, options),
    getSubresource: (resource, at, options) => client.getSubresource(resource, at, options),
    createSubresource: (resource, at, value, options) =>
      client.createSubresource(resource, at, value, options),
    updateSubresource: (resource, at, value, options) =>
      client.updateSubresource(resource, at, value, options),
    raw: request => client.raw(request),
  }
}
