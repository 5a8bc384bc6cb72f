/**
 * Mirror pods: API objects that represent static pods. The node creates and deletes them. Changing a mirror
 * does not change the pod; a mirror that was deleted or belongs to an older manifest is created again.
 */
import { annotationOf, isBeingDeleted, keyOf, parseKey, type Stored } from '#/api/metadata.ts'
import { isApiError } from '#/api/errors.ts'
import type { Node, Pod } from '#/api/generated/core/v1.ts'
import { pods } from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import type { Informer } from '#/client/informer.ts'
import { WorkQueue, type ReconcileResult } from '#/client/workqueue.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import { isMirror, mirrorAnnotation, type PodSources } from './pod-sources.ts'

export interface MirrorPodsOptions {
  readonly platform: Platform
  readonly client: Client
  /** Informer for the node's pods. */
  readonly informer: Informer<Pod>
  readonly sources: PodSources
  readonly node: () => Stored<Node> | undefined
  /** True while a static pod of this name is terminating after its manifest was removed. */
  readonly isTerminating: (key: string) => boolean
}

const retryMs = { first: 500, max: 60_000 }

/** Retry period until the node is registered: mirror pods need it as owner. */
const nodeRetryMs = 1_000

export class MirrorPods {
  readonly #options: MirrorPodsOptions
  readonly #queue: WorkQueue

  constructor(options: MirrorPodsOptions) {
    this.#options = options
    const { platform, informer, sources } = options
    this.#queue = new WorkQueue({ platform, name: 'mirror pods', retryMs })
    informer.addEventHandler((key, { oldObject, newObject }) => {
      if ((oldObject && isMirror(oldObject)) || (newObject && isMirror(newObject))) this.#queue.add(key)
    })
    sources.onChange(uid => {
      const sourced = sources.get(uid)
      if (sourced?.isStatic) this.#queue.add(keyOf(sourced.pod))
    })
  }

  /** Queues the pod with this name. */
  enqueue(key: string): void {
    this.#queue.add(key)
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#options.sources.waitForSync(signal).catch(() => undefined)
    const work = (key: string): Promise<void | ReconcileResult> => this.#sync(key, signal)
    await this.#queue.run({ workers: 1, signal, reconcile: work })
  }

  async #sync(key: string, signal: AbortSignal): Promise<void | ReconcileResult> {
    const { informer, sources, isTerminating } = this.#options
    const pod = sources.staticPod(key)
    const known = informer.get(key)
    const mirror = known && isMirror(known) ? known : undefined
    if (pod === undefined) {
      if (mirror !== undefined && !isTerminating(key)) await this.#remove(key, mirror, signal)
      return undefined
    }
    if (mirror === undefined) return this.#create(pod, signal)
    const isCurrent = annotationOf(mirror, mirrorAnnotation) === pod.metadata.uid && !isBeingDeleted(mirror)
    if (!isCurrent) await this.#remove(key, mirror, signal)
    return undefined
  }

  async #create(pod: KubeletPod, signal: AbortSignal): Promise<void | ReconcileResult> {
    const { client, node } = this.#options
    const owner = node()?.metadata
    if (owner === undefined) return { requeueAfterMs: nodeRetryMs }
    const { uid, ...metadata } = pod.metadata
    const { status: _, ...wanted } = pod
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'Node', name: owner.name, uid: owner.uid, controller: true },
    ]
    const annotations = { ...metadata.annotations, [mirrorAnnotation]: uid }
    const mirror = { ...wanted, metadata: { ...metadata, annotations, ownerReferences } }
    try {
      await client.create(pods, mirror, { signal })
    } catch (error) {
      if (!isApiError(error, 'AlreadyExists')) throw error
    }
  }

  async #remove(key: string, mirror: Stored<Pod>, signal: AbortSignal): Promise<void> {
    const preconditions = { uid: mirror.metadata.uid }
    try {
      await this.#options.client.delete(pods, parseKey(key), { gracePeriodSeconds: 0, preconditions, signal })
    } catch (error) {
      if (!isApiError(error, 'NotFound') && !isApiError(error, 'Conflict')) throw error
    }
  }
}
