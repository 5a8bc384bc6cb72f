/** The store under the API servers of a simulation. */
import type { Random } from '#/platform/platform.ts'
import type { SimulatedHost, Simulation } from '#/platform/simulated.ts'
import { EmbeddedStore } from '#/store/embedded.ts'
import { EtcdStore } from '#/store/etcd.ts'
import type { Store } from '#/store/store.ts'
import { drawEtcdFault } from '../etcd/draw-etcd-fault.ts'
import { etcdRequestFaults, etcdWatchFaults } from '../etcd/etcd-faults.ts'
import { SimulatedEtcd } from '../etcd/simulated-etcd.ts'
import { platformOf } from '../host-platform.ts'
import type { Fault } from './faults.ts'
import type { SimulatedServer } from './simulated-server.ts'

export interface Stores {
  /** Hosts of API servers. Only a store that they can share has several. */
  readonly serverNames: readonly string[]
  /** Opens the store for a new process of an API server. */
  readonly open: (host: SimulatedHost) => Promise<Store>
  /** Faults of the store that may come while an API server is down. */
  readonly faultsOf: (servers: readonly SimulatedServer[], random: Random) => readonly Fault[]
  /** Faults of the store after which an API server restarts. */
  readonly fatalFaultsOf: (server: SimulatedServer, random: Random) => readonly Fault[]
}

const folder = '/cluster/store'
const markCopy = '/cluster/pki/store.mark'

/** Small, so that segments are begun and rewritten. */
const segmentBytesMax = 128 * 1024
/** Small, so that values are read from the disk. */
const cacheBytesMax = 64 * 1024

/** Makes the stores of a simulation, by name. */
export const storeKinds = { embedded: embeddedStores, etcd: etcdStores } as const

export type StoreKind = keyof typeof storeKinds

/** The embedded store belongs to one API server and is on its disk. */
function embeddedStores(): Stores {
  return {
    serverNames: ['api'],
    open: host => {
      const platform = platformOf(host)
      return EmbeddedStore.open({ platform, folder, markCopy, segmentBytesMax, cacheBytesMax })
    },
    faultsOf: ([server], random) => diskFaults(server!, random),
    fatalFaultsOf: (server, random) => [diskError(server, random)],
  }
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
  ]
}

/** The store is closed then, until the process is started again. */
function diskError(server: SimulatedServer, random: Random): Fault {
  return {
    kind: 'disk-error',
    begin: () => {
      server.host.disk.failNext(random.integer('failing operation', 2) === 0 ? 'sync' : 'write-at', 'EIO')
      return () => server.powerCycle()
    },
  }
}

/** Two API servers share an etcd of three members. */
function etcdStores(simulation: Simulation): Stores {
  const etcd = new SimulatedEtcd({ simulation, members: 3 })
  return {
    serverNames: ['api-1', 'api-2'],
    open: async host => {
      const platform = platformOf(host)
      return EtcdStore.open({ platform, connect: etcd.connect(host), endpoints: etcd.endpoints })
    },
    faultsOf: (servers, random) => [
      etcdFault(etcd, servers, random),
      etcdFault(etcd, servers, random),
      failingRequests(etcd),
    ],
    fatalFaultsOf: () => [],
  }
}

/** Of a member, of the leader, or of the connections of an API server. */
function etcdFault(etcd: SimulatedEtcd, servers: readonly SimulatedServer[], random: Random): Fault {
  const hosts = servers.map(({ host }) => host.name)
  return {
    kind: 'etcd',
    begin: () => {
      const { begin, end } = drawEtcdFault(etcd, hosts, random)
      begin()
      return end
    },
  }
}

function failingRequests(etcd: SimulatedEtcd): Fault {
  return {
    kind: 'etcd-requests',
    begin: () => {
      etcd.setFaults({ requestFaults: etcdRequestFaults, watchFaults: etcdWatchFaults, chance: 0.1 })
      return () => etcd.setFaults({ chance: 0 })
    },
  }
}
