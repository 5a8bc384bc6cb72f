/**
 * Profiles by V8's inspector, which is connected only while a profile is taken: a connected session slows down the
 * program.
 */
import { Session } from 'node:inspector/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { getHeapSnapshot } from 'node:v8'
import type { ProfileOptions, Profiler } from '../profiler.ts'

export function nodeProfiler(): Profiler {
  return {
    cpuProfile: options =>
      withSession(async session => {
        await session.post('Profiler.enable')
        await session.post('Profiler.start')
        await pass(options)
        const { profile } = await session.post('Profiler.stop')
        return JSON.stringify(profile)
      }),
    heapProfile: options =>
      withSession(async session => {
        await session.post('HeapProfiler.startSampling')
        await pass(options)
        const { profile } = await session.post('HeapProfiler.stopSampling')
        return JSON.stringify(profile)
      }),
    heapSnapshot: () => getHeapSnapshot(),
  }
}

async function withSession<T>(use: (session: Session) => Promise<T>): Promise<T> {
  const session = new Session()
  session.connect()
  try {
    return await use(session)
  } finally {
    session.disconnect()
  }
}

async function pass({ durationMs, signal }: ProfileOptions): Promise<void> {
  await sleep(durationMs, undefined, { signal }).catch(() => undefined)
}
