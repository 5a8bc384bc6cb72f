/**
 * Config maps, secrets, claims and volumes that the pods of this node use. A node may read config maps and secrets
 * only by name, and only those of its pods: each is watched for as long as some pod uses it, so that whoever has a copy
 * of it in a volume hears of changes. Claims and volumes may only be asked for, one by one.
 * https://kubernetes.io/docs/reference/access-authn-authz/node/
 */
import type {
  ConfigMap,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
} from '#/api/generated/core/v1.ts'
import {
  configMaps,
  persistentVolumeClaims,
  persistentVolumes,
  secrets,
} from '#/api/generated/core/v1-resources.ts'
import type { Client } from '#/client/client.ts'
import type { Platform } from '#/platform/platform.ts'
import { FollowedObjects } from './pod-objects/followed-objects.ts'
import { referencesOf } from './pod-objects/references.ts'

export interface PodObjectsOptions {
  readonly platform: Platform
  /** As `system:node:NAME`. */
  readonly client: Client
}

/** Told which pods use an object that has changed; nothing it does may wait. */
export type ObjectsChanged = (podUids: readonly string[]) => void

export class PodObjects {
  readonly #client: Client
  readonly #configMaps: FollowedObjects<ConfigMap>
  readonly #secrets: FollowedObjects<Secret>
  readonly #callbacks = new Set<ObjectsChanged>()

  constructor(options: PodObjectsOptions) {
    const onChange: ObjectsChanged = podUids => {
      for (const callback of this.#callbacks) callback(podUids)
    }
    this.#client = options.client
    this.#configMaps = new FollowedObjects({ ...options, resource: configMaps, onChange })
    this.#secrets = new FollowedObjects({ ...options, resource: secrets, onChange })
  }

  /** Watches what is followed, also what is to be followed later, until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#configMaps.run(signal), this.#secrets.run(signal)])
  }

  /** From now on the pod uses what its spec names. It may be called at every pass. */
  follow(pod: Pod): void {
    const { namespace = '', uid = '' } = pod.metadata ?? {}
    const { configMaps: names, secrets: secretNames } = referencesOf(pod)
    this.#configMaps.follow(uid, namespace, names)
    this.#secrets.follow(uid, namespace, secretNames)
  }

  /** The pod uses nothing any more. */
  forget(uid: string): void {
    this.#configMaps.forget(uid)
    this.#secrets.forget(uid)
  }

  /** Returns how to stop that. */
  onChange(callback: ObjectsChanged): () => void {
    this.#callbacks.add(callback)
    return () => void this.#callbacks.delete(callback)
  }

  /** Undefined when there is none. */
  configMap(namespace: string, name: string, signal?: AbortSignal): Promise<ConfigMap | undefined> {
    return this.#configMaps.get(namespace, name, signal)
  }

  secret(namespace: string, name: string, signal?: AbortSignal): Promise<Secret | undefined> {
    return this.#secrets.get(namespace, name, signal)
  }

  claim(namespace: string, name: string, signal?: AbortSignal): Promise<PersistentVolumeClaim | undefined> {
    return this.#client.find(persistentVolumeClaims, { namespace, name }, { signal })
  }

  persistentVolume(name: string, signal?: AbortSignal): Promise<PersistentVolume | undefined> {
    return this.#client.find(persistentVolumes, { name }, { signal })
  }
}
