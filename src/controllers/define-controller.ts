/**
 * A controller of one kind, the npm entry point `k8ts/controller`: names the kind, the kinds of the objects
 * that it creates, and a function that reconciles one object. The result is a `Controller` for the loop of
 * `controller.ts`, which also runs the built-in controllers. See `docs/operators.md` for users' documentation.
 */
import {
  hasFinalizer,
  isBeingDeleted,
  withFinalizer,
  withoutFinalizer,
  type KubernetesObject,
  type Stored,
} from '#/api/metadata.ts'
import { apiVersionOf, qualifiedResourceName, type Resource } from '#/api/resource.ts'
import { equalJson } from '#/api/text/json-value.ts'
import type { EventRecorder } from '#/client/event-recorder.ts'
import type { Informer } from '#/client/informer.ts'
import type { ReconcileResult } from '#/client/workqueue.ts'
import type { Platform } from '#/platform/platform.ts'
import type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
import { controllerRefIndex, enqueueForOwner } from './shared/controller-ref-index.ts'

export type { Controller, ControllerContext, Reconcile, ReconcileRequest } from './controller.ts'
export type { Resource } from '#/api/resource.ts'
export type { ReconcileResult } from '#/client/workqueue.ts'

export interface ControllerOptions<T extends KubernetesObject> {
  /** For logs, metrics and the source of events. */
  readonly name: string
  readonly resource: Resource<T>
  /** Only objects in this namespace; default all. Applies to owned and watched objects, too. */
  readonly namespace?: string
  /**
   * Kinds of the objects that the controller creates with a `controllerReference`. A change of such an object
   * enqueues its owner.
   */
  readonly owns?: readonly Resource[]
  readonly watches?: readonly WatchSource[]
  readonly finalizer?: Finalizer<T>
  /** Number of objects reconciled in parallel; default five. */
  readonly workers?: number
  /** Reconciles every object periodically, changed or not. */
  readonly resyncMs?: number
  /** Called for an object that is not being deleted. May be interrupted between any two writes. */
  readonly reconcile: ReconcileObject<T>
}

/** The object is requeued with backoff if it throws, or after the returned delay. */
export type ReconcileObject<T extends KubernetesObject> = (
  request: ObjectRequest<T>,
) => Promise<void | ReconcileResult>

/** Added to each object before it is reconciled for the first time. */
export interface Finalizer<T extends KubernetesObject> {
  /** Qualified: `example.com/cleanup`. */
  readonly name: string
  /**
   * Called for an object that is being deleted. The finalizer is removed when it resolves, except with a
   * delay, after which it is called again.
   */
  readonly finalize: ReconcileObject<T>
}

/** One reconcile of one object. */
export interface ObjectRequest<T extends KubernetesObject> extends ReconcileRequest {
  /** From the informer's cache: shared, not to be modified. */
  readonly object: Stored<T>
  readonly platform: Platform
  readonly recorder: EventRecorder
  /** The objects of a kind of `owns` that `object` controls. */
  readonly owned: <O extends KubernetesObject>(resource: Resource<O>) => readonly Stored<O>[]
  /** The cache of a kind of `owns` or `watches`, or of the kind itself. */
  readonly lister: <O extends KubernetesObject>(resource: Resource<O>) => Lister<O>
  /** Writes the status subresource, unless it is the same. */
  readonly setStatus: (status: StatusOf<T>) => Promise<void>
}

export type Lister<T extends KubernetesObject> = Pick<Informer<T>, 'get' | 'list' | 'inNamespace'>

export type StatusOf<T> = T extends { readonly status?: infer S } ? NonNullable<S> : never

/** Objects of another kind, whose changes enqueue objects of the controller's kind. */
export interface WatchSource {
  readonly resource: Resource
  readonly addTo: (context: ControllerContext, namespace: string | undefined) => void
}

/** `keysOf` returns keys, `namespace/name`; it is called with the old and the new state of a changed object. */
export function watch<T extends KubernetesObject>(
  resource: Resource<T>,
  keysOf: (object: Stored<T>) => Iterable<string>,
): WatchSource {
  return {
    resource,
    addTo: (context, namespace) => {
      informerIn(context, resource, namespace).addEventHandler((_key, { oldObject, newObject }) => {
        const states = [oldObject, newObject].filter(state => state !== undefined)
        for (const key of new Set(states.flatMap(state => [...keysOf(state)]))) context.enqueue(key)
      })
    },
  }
}

export function defineController<T extends KubernetesObject>(options: ControllerOptions<T>): Controller {
  const { name, workers } = options
  return { name, ...(workers !== undefined && { workers }), setUp: context => setUp(options, context) }
}

function setUp<T extends KubernetesObject>(
  options: ControllerOptions<T>,
  context: ControllerContext,
): Reconcile {
  const { resource, namespace, owns = [], watches = [], resyncMs } = options
  const objects = informerIn(context, resource, namespace)
  objects.addEventHandler(key => context.enqueue(key), resyncMs === undefined ? {} : { resyncMs })
  for (const owned of owns) {
    const informer = informerIn(context, owned, namespace)
    // Created here, since an index of a full cache is expensive.
    controllerRefIndex(informer)
    enqueueForOwner(informer, resource, key => context.enqueue(key))
  }
  for (const source of watches) source.addTo(context, namespace)
  const declared = new Set([resource, ...owns, ...watches.map(source => source.resource)].map(kindOf))
  const listerOf = <O extends KubernetesObject>(of: Resource<O>): Informer<O> => {
    if (declared.has(kindOf(of))) return informerIn(context, of, namespace)
    throw new Error(`controller ${options.name} neither owns nor watches ${qualifiedResourceName(of)}`)
  }
  return async request => {
    const object = objects.get(request.key)
    if (object === undefined) return undefined
    const { client, signal } = request
    return reconcileObject(options, {
      ...request,
      object,
      platform: context.platform,
      recorder: context.recorder,
      lister: listerOf,
      owned: of => controllerRefIndex(listerOf(of)).get(object.metadata.uid),
      setStatus: async status => {
        if (equalJson((object as { readonly status?: unknown }).status, status)) return
        await client.updateStatus(resource, { ...object, status }, { signal })
      },
    })
  }
}

async function reconcileObject<T extends KubernetesObject>(
  { resource, finalizer, reconcile }: ControllerOptions<T>,
  request: ObjectRequest<T>,
): Promise<void | ReconcileResult> {
  const { object, client, signal } = request
  if (isBeingDeleted(object)) {
    if (finalizer === undefined || !hasFinalizer(object, finalizer.name)) return undefined
    const result = await finalizer.finalize(request)
    if (result) return result
    await client.update(resource, withoutFinalizer(object, finalizer.name), { signal })
    return undefined
  }
  if (finalizer !== undefined && !hasFinalizer(object, finalizer.name)) {
    // The change enqueues the object again.
    await client.update(resource, withFinalizer(object, finalizer.name), { signal })
    return undefined
  }
  return reconcile(request)
}

function informerIn<T extends KubernetesObject>(
  { informer }: ControllerContext,
  resource: Resource<T>,
  namespace: string | undefined,
): Informer<T> {
  const isRestricted = namespace !== undefined && resource.scope === 'Namespaced'
  return informer(resource, isRestricted ? { namespace } : undefined)
}

function kindOf(resource: Resource): string {
  return `${apiVersionOf(resource)} ${resource.kind}`
}
