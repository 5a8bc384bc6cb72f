/** Faults of a process that is drawn from several: killed, stopped, or with syncs that fail or are slow. */
import type { SeededRandom } from '#/base/seeded-random.ts'
import type { Fault, FaultKind, MissingFault } from '../faults.ts'
import type { ServerProcess } from './server-process.ts'
import { syncFaultsMissing, tamperWithSyncs } from './sync-faults.ts'

export function killFault(kind: FaultKind, processes: readonly ServerProcess[]): Fault {
  return {
    kind,
    inject: async random => {
      const process = draw(processes, random)
      await process.kill()
      return () => process.start()
    },
  }
}

export function stopFault(kind: FaultKind, processes: readonly ServerProcess[]): Fault {
  return {
    kind,
    inject: async random => {
      const process = draw(processes, random)
      process.signal('SIGSTOP')
      return async () => process.signal('SIGCONT')
    },
  }
}

/** After a failed sync, the embedded store accepts no writes until it is opened again, and etcd exits. */
export function syncFaults(processes: readonly ServerProcess[]): readonly Fault[] {
  if (syncFaultsMissing !== undefined) return []
  const failing: Fault = {
    kind: 'sync-error',
    inject: async random => {
      const process = draw(processes, random)
      const heal = await tamperWithSyncs(process.pid, { type: 'error' })
      return async () => {
        await heal()
        await process.restart()
      }
    },
  }
  const slow: Fault = {
    kind: 'slow-sync',
    inject: random => {
      const delayMs = slowSyncMsMin + random.integer(slowSyncMsMax - slowSyncMsMin)
      return tamperWithSyncs(draw(processes, random).pid, { type: 'delay', delayMs })
    },
  }
  return [failing, slow]
}

const slowSyncMsMin = 50
const slowSyncMsMax = 1_000

export function missingSyncFaults(): readonly MissingFault[] {
  if (syncFaultsMissing === undefined) return []
  const reason = syncFaultsMissing
  return [
    { kind: 'sync-error', reason },
    { kind: 'slow-sync', reason },
  ]
}

export function draw<T>(items: readonly T[], random: SeededRandom): T {
  return items[random.integer(items.length)]!
}
