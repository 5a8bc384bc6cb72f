import type { Clock } from '#/platform/platform.ts'
import type { KubeletView } from '../kubelet-view.ts'
import type { VolumeUsage } from '../volumes.ts'
import type { MetricFamily } from './metric-text.ts'

export interface VolumeStatsOptions {
  readonly platform: { readonly clock: Clock }
  readonly view: Pick<KubeletView, 'claimUsage'>
}

/** Measuring may visit all files of a volume, so it is repeated no more often than upstream does. */
const freshMs = 60_000

/** Usage of persistent volumes, measured at a scrape. */
export class VolumeStats {
  readonly #options: VolumeStatsOptions
  #measured: Promise<readonly VolumeUsage[]> | undefined
  #freshUntilMs = -Infinity

  constructor(options: VolumeStatsOptions) {
    this.#options = options
  }

  async families(): Promise<readonly MetricFamily[]> {
    return volumeFamilies(await this.#usages())
  }

  /** Concurrent scrapes share one measurement. A failed one is not kept. */
  #usages(): Promise<readonly VolumeUsage[]> {
    const { platform, view } = this.#options
    const nowMs = platform.clock.monotonicMs()
    if (this.#measured !== undefined && nowMs < this.#freshUntilMs) return this.#measured
    this.#freshUntilMs = nowMs + freshMs
    this.#measured = view.claimUsage()
    this.#measured.catch(() => {
      this.#measured = undefined
    })
    return this.#measured
  }
}

/** A claim that several pods use is measured once. */
function volumeFamilies(usages: readonly VolumeUsage[]): readonly MetricFamily[] {
  const byClaim = new Map(
    usages.flatMap(usage => (usage.claim ? [[`${usage.claim.namespace}/${usage.claim.name}`, usage]] : [])),
  )
  return figures.map(([name, help, value]) => ({
    name: `kubelet_volume_stats_${name}`,
    help: `[ALPHA] ${help}`,
    type: 'gauge',
    metrics: Array.from(byClaim.values(), usage => ({
      labels: { namespace: usage.claim!.namespace, persistentvolumeclaim: usage.claim!.name },
      value: value(usage),
    })),
  }))
}

const figures: readonly (readonly [name: string, help: string, value: (usage: VolumeUsage) => number])[] = [
  ['available_bytes', 'Bytes available in the volume.', ({ space }) => space.availableBytes],
  ['capacity_bytes', 'Size of the volume.', ({ space }) => space.totalBytes],
  ['inodes', 'Inodes of the volume.', ({ space }) => space.totalInodes],
  ['inodes_free', 'Free inodes of the volume.', ({ space }) => space.freeInodes],
  ['inodes_used', 'Used inodes of the volume.', ({ usedInodes }) => usedInodes],
  ['used_bytes', 'Bytes used in the volume.', ({ usedBytes }) => usedBytes],
]
