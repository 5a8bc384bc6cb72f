/** CPU shares of the QoS cgroups, updated after pods were added or removed. */
import type { Pod } from '#/api/generated/core/v1.ts'
import type { Platform, Timer } from '#/platform/platform.ts'
import type { PodCgroups } from './cgroups.ts'

export interface QosCgroupsOptions {
  readonly platform: Platform
  readonly cgroups: Pick<PodCgroups, 'updateQosCgroups'>
  /** Active pods of the node. */
  readonly pods: () => readonly Pod[]
}

/** Debounce: pod changes within this time are handled in one update. */
const quietMs = 500

/** Keeps the CPU shares of the QoS cgroups in proportion to the requests of their pods. */
export class QosCgroups {
  readonly #options: QosCgroupsOptions
  #timer: Timer | undefined

  constructor(options: QosCgroupsOptions) {
    this.#options = options
  }

  update(): void {
    this.#timer ??= this.#options.platform.clock.setTimer(quietMs, () => {
      this.#timer = undefined
      void this.#write()
    })
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  async #write(): Promise<void> {
    const { platform, cgroups, pods } = this.#options
    try {
      await cgroups.updateQosCgroups(pods())
    } catch (error) {
      platform.log.warn('Failed to update QoS cgroup configuration', { error })
    }
  }
}
