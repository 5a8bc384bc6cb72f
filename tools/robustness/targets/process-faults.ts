/** Faults of a process that is drawn from several: killed, stopped, or with syncs that fail or are slow. */
import type { SeededRandom } from '#/base/seeded-random.ts'
import type { Fault, Heal, MissingFault, TargetPart } from '../faults.ts'
import type { ServerProcess } from './server-process.ts'
import { syncFaultsMissing, tamperWithSyncs, type SyncTampering } from './sync-faults.ts'

export function killFault(kind: 'kill' | 'kill-member', processes: readonly ServerProcess[]): Fault {
  return {
    kind,
    parts: [partOf(kind)],
    inject: async random => {
      const process = draw(processes, random)
      await process.kill()
      return () => process.start()
    },
  }
}

export function stopFault(kind: 'stop' | 'stop-member', processes: readonly ServerProcess[]): Fault {
  return {
    kind,
    parts: [partOf(kind)],
    inject: async random => {
      const process = draw(processes, random)
      process.signal('SIGSTOP')
      return async () => process.signal('SIGCONT')
    },
  }
}

function partOf(kind: 'kill' | 'stop' | 'kill-member' | 'stop-member'): TargetPart {
  return kind === 'kill' || kind === 'stop' ? 'api-server' : 'member'
}

/** After a failed sync, the embedded store accepts no writes until it is opened again, and etcd exits. */
export function syncFaults(part: TargetPart, processes: readonly ServerProcess[]): readonly Fault[] {
  if (syncFaultsMissing !== undefined) return []
  const failing: Fault = {
    kind: 'sync-error',
    parts: [part, 'syncs'],
    inject: async random => {
      const process = draw(processes, random)
      const heal = await tamper(process, { type: 'error' })
      return async () => {
        await heal()
        await process.restart()
      }
    },
  }
  const slow: Fault = {
    kind: 'slow-sync',
    parts: ['syncs'],
    inject: random => {
      const delayMs = slowSyncMsMin + random.integer(slowSyncMsMax - slowSyncMsMin)
      return tamper(draw(processes, random), { type: 'delay', delayMs })
    },
  }
  return [failing, slow]
}

/** Another fault may have killed the process: then the next one is tampered with. */
async function tamper(process: ServerProcess, tampering: SyncTampering): Promise<Heal> {
  for (;;) {
    const pid = await process.running()
    try {
      return await tamperWithSyncs(pid, tampering)
    } catch (error) {
      if (process.isRunning && process.pid === pid) throw error
    }
  }
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
