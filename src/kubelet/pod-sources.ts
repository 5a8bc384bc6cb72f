/**
 * Which pods this node is to run: those that the API server has for it, and those that lie in its folder of manifests.
 * A pod of a manifest has a mirror in the API, so that people see it; the mirror itself is not run. Pods are told apart
 * by their uids: one that was made again under its name is another one.
 */
import { annotationOf } from '#/api/annotations.ts'
import type { Pod } from '#/api/generated/core/v1.ts'
import { keyOf } from '#/api/metadata.ts'
import type { Informer } from '#/client/informer.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import type { NodeSettings } from './node-settings.ts'
import { ManifestFolder } from './pod-sources/manifest-folder.ts'
import { sourceAnnotation } from './pod-sources/parse-manifest.ts'

export interface SourcedPod {
  readonly pod: Pod
  /** It comes from a manifest. */
  readonly isStatic: boolean
  /** What the API shows of a static pod. */
  readonly mirror?: Pod
}

export interface PodSourcesOptions {
  readonly platform: Platform
  readonly linux: Linux
  readonly node: NodeSettings
  /** Follows the pods of the node. */
  readonly informer: Informer<Pod>
}

/** Told the uid of a pod that came, changed or went. */
export type SourceHandler = (uid: string) => void

/** Whether a pod comes from a manifest, by what was written on it when it was read. */
export function isStaticPod(pod: Pod): boolean {
  return annotationOf(pod, sourceAnnotation) === 'file' && !isMirror(pod)
}

export const mirrorAnnotation = 'kubernetes.io/config.mirror'

export function isMirror(pod: Pod): boolean {
  return annotationOf(pod, mirrorAnnotation) !== undefined
}

export class PodSources {
  readonly #options: PodSourcesOptions
  readonly #manifests: ManifestFolder
  readonly #byUid = new Map<string, Pod>()
  readonly #handlers = new Set<SourceHandler>()

  constructor(options: PodSourcesOptions) {
    this.#options = options
    const { platform, linux, node } = options
    const folder = node.manifestsFolder
    const onChange = (uid: string): void => this.#tell(uid)
    this.#manifests = new ManifestFolder({ platform, linux, folder, nodeName: node.name, onChange })
    options.informer.addEventHandler((key, { oldObject, newObject }) => {
      this.#follow(oldObject, newObject)
      const mirrored = this.#manifests.byKey(key)?.metadata?.uid
      if (mirrored !== undefined) this.#tell(mirrored)
    })
  }

  /** Follows manifests until aborted. Whoever runs the informer runs that. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#manifests.run(signal)
  }

  /** Whether all pods are known that the node is to run: what else runs is nobody's. */
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

  staticPod(key: string): Pod | undefined {
    return this.#manifests.byKey(key)
  }

  #follow(before: Pod | undefined, after: Pod | undefined): void {
    const [old, now] = [before, after].map(pod => (pod && !isMirror(pod) ? pod.metadata?.uid : undefined))
    if (old !== undefined && old !== now) {
      this.#byUid.delete(old)
      this.#tell(old)
    }
    if (now !== undefined && after !== undefined) {
      this.#byUid.set(now, after)
      this.#tell(now)
    }
  }

  #tell(uid: string): void {
    for (const handler of this.#handlers) handler(uid)
  }
}
