/** Takes snapshots of the embedded store of a cluster. One that fails is reported by an Event and by `k8ts status`. */
import type { KubernetesObject } from '#/api/metadata.ts'
import { namespaces } from '#/api/generated/core/v1-resources.ts'
import { messageOf } from '#/base/message-of.ts'
import type { Client } from '#/client/client.ts'
import { EventRecorder } from '#/client/event-recorder.ts'
import type { Platform } from '#/platform/platform.ts'
import { SnapshotSchedule } from '#/store/snapshot-schedule.ts'
import type { LockHolder } from './lock-folder.ts'
import { embeddedStorePlace, snapshotsFolder, type SnapshotSettings } from './open-store.ts'

export interface ScheduledSnapshotsOptions extends SnapshotSettings {
  readonly platform: Platform
  /** Writes the Events. */
  readonly client: Client
  /** Folder of the cluster. */
  readonly folder: string
}

export class ScheduledSnapshots {
  readonly #options: ScheduledSnapshotsOptions
  readonly #recorder: EventRecorder
  #failure: string | undefined

  constructor(options: ScheduledSnapshotsOptions) {
    this.#options = options
    this.#recorder = new EventRecorder({ ...options, component: 'k8ts-apiserver' })
  }

  /** For `k8ts status`. */
  get status(): Pick<LockHolder, 'snapshotFailure'> {
    return this.#failure === undefined ? {} : { snapshotFailure: this.#failure }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { platform, folder, intervalMs, retention } = this.#options
    const schedule = new SnapshotSchedule({
      platform,
      place: embeddedStorePlace(folder),
      folder: snapshotsFolder(folder),
      intervalMs,
      retention,
      onResult: error => this.#report(error, signal),
    })
    await Promise.all([schedule.run(signal), this.#recorder.run(signal)])
  }

  #report(error: unknown, signal: AbortSignal): void {
    this.#failure = error === undefined ? undefined : messageOf(error)
    if (this.#failure !== undefined) void this.#recordFailure(this.#failure, signal)
  }

  /** About the object that the alarms of the store are about. */
  async #recordFailure(message: string, signal: AbortSignal): Promise<void> {
    const about = await this.#subject(signal)
    this.#recorder.record(about, {
      type: 'Warning',
      reason: 'StoreSnapshotFailed',
      message: `a scheduled snapshot of the store failed: ${message}`,
    })
  }

  async #subject(signal: AbortSignal): Promise<KubernetesObject> {
    const name = 'kube-system'
    const found = await this.#options.client.get(namespaces, { name }, { signal }).catch(() => undefined)
    const uid = found?.metadata.uid
    return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, ...(uid && { uid }) } }
  }
}
