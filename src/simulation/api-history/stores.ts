/** The store under the API servers of a simulation. */
import type { Random } from '#/platform/platform.ts'
import type { SimulatedHost } from '#/platform/simulated.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import type { Store } from '#/store/store.ts'
import type { Fault } from './faults.ts'
import type { SimulatedServer } from './simulated-server.ts'

export interface Stores {
  /** Hosts of API servers. Only a store that they can share has several. */
  readonly serverNames: readonly string[]
  /** Opens the store for a new process of an API server. */
  readonly open: (host: SimulatedHost) => Promise<Store>
  readonly faultsOf: (servers: readonly SimulatedServer[], random: Random) => readonly Fault[]
}

const folder = '/cluster/store'
const markCopy = '/cluster/pki/store.mark'

/** Small, so that segments are begun and rewritten. */
const segmentBytesMax = 128 * 1024
/** Small, so that values are read from the disk. */
const cacheBytesMax = 64 * 1024

/** The embedded store belongs to one API server and is on its disk. */
export const embeddedStores: Stores = {
  serverNames: ['api'],
  open: ({ clock, random, network, files, processes, log }) => {
    const platform = { clock, random, network, files, processes, log }
    return EmbeddedStore.open({ platform, folder, markCopy, segmentBytesMax, cacheBytesMax })
  },
  faultsOf: ([server], random) => diskFaults(server!, random),
}

function diskFaults(server: SimulatedServer, random: Random): readonly Fault[] {
  const { disk } = server.host
  const { stallRate, stallMs, capacityBytes } = disk.faults
  return [
    {
      kind: 'slow-disk',
      begin: () => {
        disk.setFaults({ stallRate: 0.2, stallMs: 20 + random.integer('stall', 3_000) })
        return () => disk.setFaults({ stallRate, stallMs })
      },
    },
    {
      kind: 'full-disk',
      begin: () => {
        disk.setFaults({ capacityBytes: disk.usedBytes + random.integer('free bytes', 20_000) })
        return () => disk.setFaults({ capacityBytes })
      },
    },
    {
      // The store is closed then, until the process is started again.
      kind: 'disk-error',
      begin: () => {
        disk.failNext(random.integer('failing operation', 2) === 0 ? 'sync' : 'write-at', 'EIO')
        return () => server.powerCycle()
      },
    },
  ]
}
