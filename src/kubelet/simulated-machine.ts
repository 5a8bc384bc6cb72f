/**
 * A simulated machine on which kubelets run, one after the other: Linux and a container runtime on a simulated
 * host. A kubelet can crash between any two calls; runtime and disk continue. For tests and simulations.
 */
import type { Client } from '#/client/client.ts'
import { SimulatedRuntime, type SimulatedRuntimeOptions } from '#/cri/simulated.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Clock, Platform } from '#/platform/platform.ts'
import { SimulatedLinux } from '#/platform/simulated.ts'
import { Kubelet, type KubeletOptions } from './kubelet.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'

export interface SimulatedMachineOptions extends SimulatedRuntimeOptions {
  readonly node: KubeletConfiguration
  readonly protectPod?: KubeletOptions['protectPod']
}

/** The process of a kubelet. */
export interface KubeletProcess {
  readonly platform: Platform
  /** Aborted when the process has ended. */
  readonly signal: AbortSignal
  readonly client: Client
  /** Called before each call to the machine. */
  readonly onCall?: () => void
  /** Replaces the runtime as the kubelet sees it. */
  readonly seenRuntime?: (runtime: ContainerRuntime) => ContainerRuntime
}

export class SimulatedMachine {
  readonly linux: SimulatedLinux
  readonly runtime: SimulatedRuntime
  readonly #options: SimulatedMachineOptions

  constructor(options: SimulatedMachineOptions) {
    this.#options = options
    this.linux = new SimulatedLinux({ files: options.platform.files })
    this.runtime = new SimulatedRuntime(options)
  }

  /** Creates the files that simulated hosts lack. */
  async boot(): Promise<void> {
    const { files } = this.#options.platform
    await files.makeFolder('/proc/self')
    await files.write('/proc/self/mountinfo', '')
    await files.makeFolder('/etc')
    await files.write('/etc/resolv.conf', 'nameserver 192.0.2.53\n')
    await files.write('/etc/hosts', '127.0.0.1 localhost\n')
  }

  /** A kubelet in the process, not yet running. */
  kubelet(process: KubeletProcess): Kubelet {
    const { platform, client, seenRuntime = runtime => runtime } = process
    const { protectPod } = this.#options
    const noNetwork = new Error('there is no network')
    return new Kubelet({
      platform,
      linux: linuxOf(this.linux, process),
      runtime: calledBy(process, seenRuntime(this.runtime)),
      client,
      node: this.#options.node,
      version: 'v1.36.4+k8ts.0.0.0',
      connectHttp: () => {
        throw noNetwork
      },
      connectGrpc: () => Promise.reject(noNetwork),
      ...(protectPod && { protectPod }),
    })
  }
}

function linuxOf(linux: SimulatedLinux, process: KubeletProcess): Linux {
  return {
    machine: linux.machine,
    run: command => linux.run(command),
    files: calledBy(process, linux.files),
    mounts: calledBy(process, linux.mounts),
  }
}

/**
 * The target as a process calls it: after the end of the process no call is executed, and none is answered. An
 * answer arrives in a turn of the process's event loop, so that a stopped process gets it when it continues.
 */
export function calledBy<T extends object>(
  caller: Pick<KubeletProcess, 'platform' | 'signal' | 'onCall'>,
  target: T,
): T {
  const { signal, onCall } = caller
  const { clock } = caller.platform
  return new Proxy(target, {
    get: (own, name) => {
      const value: unknown = Reflect.get(own, name, own)
      if (typeof value !== 'function') return value
      return (...parameters: unknown[]) => {
        if (signal.aborted) return never()
        onCall?.()
        const answer: unknown = Reflect.apply(value, own, parameters)
        if (answer instanceof Promise) return received(answer, clock, signal)
        return isAsyncIterable(answer) ? receivedEach(answer, clock, signal) : answer
      }
    },
  })
}

async function received<T>(answer: Promise<T>, clock: Clock, signal: AbortSignal): Promise<T> {
  try {
    return await answer
  } finally {
    await clock.turn()
    if (signal.aborted) await never()
  }
}

async function* receivedEach<T>(
  values: AsyncIterable<T>,
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<T, void, undefined> {
  for await (const value of values) {
    await clock.turn()
    if (signal.aborted) await never()
    yield value
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function never<T>(): Promise<T> {
  return new Promise(() => undefined)
}
