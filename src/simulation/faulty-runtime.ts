/** Injects random faults between a kubelet and a container runtime that works. */
import { CriError, runtimeRequestTimeoutMs, type ContainerRuntime } from '#/cri/cri.ts'
import type { Clock, Random } from '#/platform/platform.ts'

const runtimeFaults = ['refuse', 'fail', 'lose-answer', 'hang', 'delay'] as const

export interface RuntimeFaultOptions {
  readonly clock: Clock
  readonly random: Random
  /** Probability of a fault per call; mutable during a test. */
  chance: number
  /** The same for calls that change the runtime, which are rarer and whose outcome matters. */
  chanceOfChanges: number
}

/** True if the method changes sandboxes, containers or images. */
export function isChange(method: string): boolean {
  return /^(run|stop|remove|create|start|pull)[A-Z]/.test(method)
}

const delayMsMax = 4_000

export function faultyRuntime(runtime: ContainerRuntime, faults: RuntimeFaultOptions): ContainerRuntime {
  return new Proxy(runtime, {
    get: (own, name) => {
      const value: unknown = Reflect.get(own, name, own)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => {
        const call = (): Promise<unknown> => Reflect.apply(value, own, parameters) as Promise<unknown>
        // Lost events are injected by the runtime itself, since it has to tell of the reconnection.
        if (name === 'containerEvents') return call()
        const chance = isChange(String(name)) ? faults.chanceOfChanges : faults.chance
        return faults.random.fraction('runtime call') < chance ? performed(call, faults) : call()
      }
    },
  })
}

async function performed(
  call: () => Promise<unknown>,
  { clock, random }: RuntimeFaultOptions,
): Promise<unknown> {
  switch (runtimeFaults[random.integer('kind of runtime call', runtimeFaults.length)]) {
    case 'refuse':
      throw new CriError('unavailable', 'connection refused')
    case 'fail':
      throw new CriError('failed', 'internal error')
    case 'lose-answer':
      await call()
      throw new CriError('timeout', 'context deadline exceeded')
    case 'hang':
      await clock.sleep(runtimeRequestTimeoutMs)
      throw new CriError('timeout', 'context deadline exceeded')
    case 'delay':
    case undefined:
      break
  }
  await clock.sleep(random.integer('delay of a runtime call', delayMsMax))
  return call()
}
