/** Test helper: a controller that crashes once between two writes and restarts without its memory. */
import { MetricsRegistry } from '#/base/metrics.ts'
import type { Client } from '#/client/client.ts'
import type { Controller } from './controller.ts'

export interface CrashingController {
  readonly controller: Controller
  /** True after the crash. */
  readonly hasCrashed: () => boolean
}

/** The last write succeeds, but its response is lost. */
export function crashingController(controller: Controller, writes: number): CrashingController {
  let left = writes
  let isCrashed = false
  const dying = async <R>(write: () => Promise<R>): Promise<R> => {
    if (left === 0) throw new Error('the controller has crashed')
    left--
    const result = await write()
    if (left === 0) throw new Error('crashed after the write')
    return result
  }
  const dyingClient = (client: Client): Client => ({
    ...client,
    create: (resource, object, options) => dying(() => client.create(resource, object, options)),
    update: (resource, object, options) => dying(() => client.update(resource, object, options)),
    updateStatus: (resource, object, options) => dying(() => client.updateStatus(resource, object, options)),
    patch: (resource, at, patch, options) => dying(() => client.patch(resource, at, patch, options)),
    apply: (resource, object, options) => dying(() => client.apply(resource, object, options)),
    delete: (resource, at, options) => dying(() => client.delete(resource, at, options)),
  })
  return {
    hasCrashed: () => isCrashed,
    controller: {
      ...controller,
      setUp: context => {
        let reconcile = controller.setUp(context)
        return async work => {
          if (isCrashed) return reconcile(work)
          try {
            return await reconcile({ ...work, client: dyingClient(work.client) })
          } catch (error) {
            if (left === 0) {
              isCrashed = true
              reconcile = controller.setUp({ ...context, metrics: new MetricsRegistry() })
            }
            throw error
          }
        }
      },
    },
  }
}
