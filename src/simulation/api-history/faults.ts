/** Faults of API servers and of connections, and their schedule from the seed. */
import type { Random } from '#/platform/platform.ts'
import type { SimulatedHost, Simulation } from '#/platform/simulated.ts'
import type { HistoryRecorder } from '../history/history.ts'
import type { SimulatedServer } from './simulated-server.ts'

export interface Fault {
  readonly kind: string
  /** Begins the fault. The result ends it. */
  readonly begin: () => End | Promise<End>
}

type End = () => void | Promise<void>

export interface FaultScheduleOptions {
  readonly simulation: Simulation
  readonly recorder: HistoryRecorder
  /** One of them at a time. */
  readonly faults: readonly Fault[]
  /** Maximum time between two faults. */
  readonly quietMsMax: number
  /** Maximum duration of a fault. */
  readonly lengthMsMax: number
}

/** Resolves after the abort, when the last fault has ended. */
export async function injectFaults(options: FaultScheduleOptions, over: AbortSignal): Promise<void> {
  const { simulation, recorder, faults, quietMsMax, lengthMsMax } = options
  const { clock, random } = simulation
  for (;;) {
    await clock.sleep(random.integer('quiet time', quietMsMax))
    if (over.aborted) return
    const { kind, begin } = faults[random.integer('kind of fault', faults.length)]!
    const startMs = recorder.nowMs()
    simulation.record(`${kind} begins`)
    const end = await begin()
    await clock.sleep(1 + random.integer('length of a fault', lengthMsMax))
    await end()
    simulation.record(`${kind} has ended`)
    recorder.write({ type: 'fault', kind, startMs, endMs: recorder.nowMs() })
  }
}

/** Faults of an API server and of its host. */
export function serverFaults(server: SimulatedServer, random: Random): readonly Fault[] {
  const { host } = server
  return [
    {
      kind: 'power-failure',
      begin: () => {
        server.crash()
        return () => server.restart()
      },
    },
    {
      kind: 'stop',
      begin: async () => {
        await server.stop()
        return () => server.start()
      },
    },
    {
      kind: 'clock-jump',
      begin: () => {
        host.jumpClock(random.integer('clock jump', 600_000) - 300_000)
        return nothing
      },
    },
    {
      kind: 'watch-lag',
      begin: () => {
        server.watchLagMsMax = 2_000
        return () => {
          server.watchLagMsMax = 0
        }
      },
    },
  ]
}

/** Compacts up to the newest revisions, so that continue tokens and resumed watches expire. */
export function compaction(servers: readonly SimulatedServer[], random: Random): Fault {
  const compact = async (): Promise<void> => {
    const store = servers.find(({ store }) => store !== undefined)?.store
    const revision = (await store?.revision()) ?? 0
    await store?.compact(Math.max(0, revision - random.integer('history kept', historyKeptMax)))
  }
  return {
    kind: 'compaction',
    begin: () => {
      // Not awaited: the server may crash. It fails when the store does, or has been compacted further.
      compact().catch(() => undefined)
      return nothing
    },
  }
}

const historyKeptMax = 8

/** Cuts connections of clients. */
export function disconnections(
  clients: readonly { readonly host: SimulatedHost; readonly server: SimulatedServer }[],
  random: Random,
): readonly Fault[] {
  return (['refused', 'silent'] as const).map(mode => ({
    kind: `connection-${mode}`,
    begin: () => {
      const { host, server } = clients[random.integer('cut client', clients.length)]!
      server.connections.disconnect(host.name, mode)
      return () => server.connections.reconnect(host.name)
    },
  }))
}

function nothing(): void {}
