/**
 * The pods that the node has to run: from the API server and from the static manifest directory. A static pod
 * has a mirror pod in the API, which is not run itself. Pods are identified by UID: a pod created again with
 * the same name is a different pod.
 */
import { assert } from '#/base/assert.ts'
import { annotationOf, keyOf, type Stored } from '#/api/metadata.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Informer } from '#/client/informer.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import { isNamespaced, type KubeletPod } from './kubelet-pod.ts'
import { StaticPodSource } from './pod-sources/static-pod-source.ts'
import { sourceAnnotation } from './pod-sources/parse-manifest.ts'

export type SourcedPod = StaticPod | ApiPod

/** A pod from a manifest. */
interface StaticPod {
  readonly pod: KubeletPod
  readonly isStatic: true
  readonly mirror?: Stored<Pod>
}

interface ApiPod {
  readonly pod: Stored<KubeletPod>
  readonly isStatic: false
  readonly mirror?: undefined
}

export interface PodSourcesOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly node: KubeletConfiguration
  /** Informer for the node's pods. */
  readonly informer: Informer<Pod>
}

/** Called with the UID of a pod that was added, changed or removed. */
export type SourceHandler = (uid: string) => void

/** True if the pod comes from a manifest, according to its annotation. */
export function isStaticPod(pod: Pod): boolean {
  return annotationOf(pod, sourceAnnotation) === 'file' && !isMirror(pod)
}

export const mirrorAnnotation = 'kubernetes.io/config.mirror'

export function isMirror(pod: Pod): boolean {
  return annotationOf(pod, mirrorAnnotation) !== undefined
}

export class PodSources {
  readonly #options: PodSourcesOptions
  readonly #manifests: StaticPodSource
  readonly #byUid = new Map<string, Stored<KubeletPod>>()
  readonly #handlers = new Set<SourceHandler>()
  /** Arrival of each pod, on the monotonic clock. */
  readonly #firstSeenMs = new Map<string, number>()

  constructor(options: PodSourcesOptions) {
    this.#options = options
    const { platform, linux, node } = options
    const folder = node.staticPodPath
    const onChange = (uid: string): void => this.#notify(uid)
    this.#manifests = new StaticPodSource({ platform, linux, folder, nodeName: node.name, onChange })
    options.informer.addEventHandler((key, { oldObject, newObject }) => {
      this.#follow(oldObject, newObject)
      const mirrored = this.#manifests.byKey(key)?.metadata.uid
      if (mirrored !== undefined) this.#notify(mirrored)
    })
  }

  /** Watches manifests until aborted. The caller runs the informer. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#manifests.run(signal)
  }

  /** Resolves once all pod sources have synced; containers of other pods are orphans from then on. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#options.informer.waitForSync(signal), this.#manifests.waitForSync(signal)])
  }

  onChange(handler: SourceHandler): void {
    this.#handlers.add(handler)
  }

  get(uid: string): SourcedPod | undefined {
    const pod = this.#manifests.byUid(uid)
    if (pod !== undefined) {
      const mirror = this.#options.informer.get(keyOf(pod))
      return { pod, isStatic: true, ...(mirror && isMirror(mirror) && { mirror }) }
    }
    const own = this.#byUid.get(uid)
    return own && { pod: own, isStatic: false }
  }

  all(): readonly SourcedPod[] {
    const uids = [...this.#manifests.uids(), ...this.#byUid.keys()]
    return uids.map(uid => this.get(uid)).filter(sourced => sourced !== undefined)
  }

  /** When the pod arrived, on the monotonic clock. */
  firstSeenMs(uid: string): number | undefined {
    return this.#firstSeenMs.get(uid)
  }

  staticPod(key: string): KubeletPod | undefined {
    return this.#manifests.byKey(key)
  }

  #follow(before: Stored<Pod> | undefined, after: Stored<Pod> | undefined): void {
    const [old, now] = [before, after].map(pod => (pod && !isMirror(pod) ? pod.metadata.uid : undefined))
    if (old !== undefined && old !== now) {
      this.#byUid.delete(old)
      this.#notify(old)
    }
    if (now !== undefined && after !== undefined) {
      assert(isNamespaced(after), 'a pod has a namespace')
      this.#byUid.set(now, after)
      this.#notify(now)
    }
  }

  #notify(uid: string): void {
    if (this.get(uid) === undefined) this.#firstSeenMs.delete(uid)
    else if (!this.#firstSeenMs.has(uid))
      this.#firstSeenMs.set(uid, this.#options.platform.clock.monotonicMs())
    for (const handler of this.#handlers) handler(uid)
  }
}
