/**
 * ConfigMaps, Secrets, claims and volumes used by the node's pods. The node authorizer permits reading only
 * the ConfigMaps and Secrets of its pods, by name: each is watched while a pod uses it, so that volumes are
 * refreshed on changes. Claims and persistent volumes can only be read individually.
 * https://kubernetes.io/docs/reference/access-authn-authz/node/
 */
import type { ConfigMap, PersistentVolume, PersistentVolumeClaim, Secret } from '#/api/generated/core/v1.ts'
import {
  configMaps,
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
} from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import type { KubeletPod } from './kubelet-pod.ts'
import { WatchedObjects } from './pod-objects/watched-objects.ts'
import { referencesOf } from './pod-objects/references.ts'

export interface PodObjectsOptions {
  readonly platform: Platform
  /** Authenticated as `system:node:NAME`. */
  readonly client: Client
}

/** Called with the pods that use a changed object. Must not block. */
export type ObjectsChanged = (podUids: readonly string[]) => void

export class PodObjects {
  readonly #client: Client
  readonly #configMaps: WatchedObjects<ConfigMap>
  readonly #secrets: WatchedObjects<Secret>
  readonly #callbacks = new Set<ObjectsChanged>()

  constructor(options: PodObjectsOptions) {
    const onChange: ObjectsChanged = podUids => {
      for (const callback of this.#callbacks) callback(podUids)
    }
    this.#client = options.client
    this.#configMaps = new WatchedObjects({ ...options, resource: configMaps, onChange })
    this.#secrets = new WatchedObjects({ ...options, resource: secrets, onChange })
  }

  /** Watches referenced objects, including those added later, until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#configMaps.run(signal), this.#secrets.run(signal)])
  }

  /** Registers the objects referenced by the pod. Idempotent; called on each sync. */
  registerPod(pod: KubeletPod): void {
    const { namespace, uid } = pod.metadata
    const { configMaps: names, secrets: secretNames } = referencesOf(pod)
    this.#configMaps.registerPod(uid, namespace, names)
    this.#secrets.registerPod(uid, namespace, secretNames)
  }

  /** Unregisters the pod. */
  unregisterPod(uid: string): void {
    this.#configMaps.unregisterPod(uid)
    this.#secrets.unregisterPod(uid)
  }

  /** Returns a function that unsubscribes. */
  onChange(callback: ObjectsChanged): () => void {
    this.#callbacks.add(callback)
    return () => void this.#callbacks.delete(callback)
  }

  /** Undefined if it does not exist. */
  configMap(namespace: string, name: string, signal?: AbortSignal): Promise<Stored<ConfigMap> | undefined> {
    return this.#configMaps.get(namespace, name, signal)
  }

  secret(namespace: string, name: string, signal?: AbortSignal): Promise<Stored<Secret> | undefined> {
    return this.#secrets.get(namespace, name, signal)
  }

  claim(
    namespace: string,
    name: string,
    signal?: AbortSignal,
  ): Promise<Stored<PersistentVolumeClaim> | undefined> {
    return this.#client.find(persistentVolumeClaims, { namespace, name }, { signal })
  }

  persistentVolume(name: string, signal?: AbortSignal): Promise<Stored<PersistentVolume> | undefined> {
    return this.#client.find(persistentVolumes, { name }, { signal })
  }
}
