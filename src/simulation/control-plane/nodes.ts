import type { Client } from '#/client/client.ts'
import type { Informers } from '#/client/informers.ts'
import { simulatedNode } from '#/cluster/simulated-nodes.ts'
import type { ContainerRuntime } from '#/cri/cri.ts'
import type { SimulatedRuntime } from '#/cri/simulated.ts'
import type { Kubelet } from '#/kubelet/kubelet.ts'
import { kubeletConfiguration } from '#/kubelet/kubelet-configuration.ts'
import { SimulatedMachine } from '#/kubelet/simulated-machine.ts'
import type { Process } from '#/platform/platform.ts'
import type { Simulation } from '#/platform/simulated.ts'
import { faultyRuntime, type RuntimeFaultOptions } from '../faulty-runtime.ts'
import { checkPodInRuntime } from './node-invariants.ts'
import { lifeOf, type Life } from '../simulated-connections.ts'

export const nodeNames = ['node-1', 'node-2', 'node-3']

export interface SimulatedNodesOptions {
  readonly simulation: Simulation
  /** A client of the kubelet in this life. */
  readonly clientFor: (life: Life) => Client
  /** The container runtime as the kubelet sees it; a test may plant a bug here. */
  readonly seenRuntime?: (runtime: ContainerRuntime) => ContainerRuntime
  readonly signal: AbortSignal
  readonly onViolation: (violation: string) => void
}

const faultChances = { chance: 0.02, chanceOfChanges: 0.1 }
const noFaults = { chance: 0, chanceOfChanges: 0 }

/** The nodes of a cluster: the real kubelet, on a simulated machine with a simulated container runtime. */
export class SimulatedNodes {
  readonly #nodes = new Map<string, SimulatedNode>()

  constructor(options: SimulatedNodesOptions) {
    for (const name of nodeNames) this.#nodes.set(name, new SimulatedNode(name, options))
    options.simulation.program('kubelet', async ({ platform, signal, parameters: [name = ''] }) => {
      await this.get(name).runKubelet({ hostName: name, platform, signal })
      return 0
    })
  }

  get(name: string): SimulatedNode {
    const node = this.#nodes.get(name)
    if (node === undefined) throw new Error(`no node ${name}`)
    return node
  }

  stopFaults(): void {
    for (const node of this.#nodes.values()) node.stopFaults()
  }

  all(): readonly SimulatedNode[] {
    return [...this.#nodes.values()]
  }
}

export class SimulatedNode {
  readonly name: string
  readonly #options: SimulatedNodesOptions
  #machine: SimulatedMachine | undefined
  #process: Process | undefined
  #kubelet: Kubelet | undefined
  #faults: RuntimeFaultOptions | undefined
  #isFaultless = false

  constructor(name: string, options: SimulatedNodesOptions) {
    this.name = name
    this.#options = options
  }

  get runtime(): SimulatedRuntime {
    if (this.#machine === undefined) throw new Error(`${this.name} has not booted`)
    return this.#machine.runtime
  }

  get informers(): Informers | undefined {
    return this.#kubelet?.informers
  }

  /** Boots the machine, on which no container runs, and starts the kubelet. */
  async boot(): Promise<void> {
    const { simulation, onViolation } = this.#options
    const { platform } = lifeOf(simulation.host(this.name))
    const { address, podCidr } = simulatedNode(nodeNames.indexOf(this.name), { name: this.name })
    const node = kubeletConfiguration({
      name: this.name,
      addresses: [address],
      rootDirectory: '/node',
      cgroupRoot: '/',
    })
    const onChange = (podUid: string): void => {
      for (const violation of checkPodInRuntime(machine.runtime, podUid))
        onViolation(`${this.name}: ${violation}`)
    }
    const machine: SimulatedMachine = new SimulatedMachine({ platform, podCidrs: [podCidr], node, onChange })
    this.#machine = machine
    await machine.boot()
    await this.startKubelet()
  }

  /** The machine loses its power: only the disk remains. */
  crash(): void {
    this.#kubelet = undefined
    this.#options.simulation.host(this.name).crash()
  }

  async startKubelet(): Promise<void> {
    const { processes } = this.#options.simulation.host(this.name)
    this.#process = await processes.start(['kubelet', this.name])
  }

  /** Containers keep running. */
  killKubelet(): void {
    this.#kubelet = undefined
    this.#process?.kill('SIGKILL')
  }

  stopKubelet(): void {
    this.#process?.kill('SIGSTOP')
  }

  continueKubelet(): void {
    this.#process?.kill('SIGCONT')
  }

  /** Calls of the runtime succeed from now on. */
  stopFaults(): void {
    this.#isFaultless = true
    if (this.#faults !== undefined) Object.assign(this.#faults, noFaults)
  }

  async runKubelet(life: Life): Promise<void> {
    const { clientFor, seenRuntime = runtime => runtime, signal } = this.#options
    if (this.#machine === undefined) throw new Error(`${this.name} has not booted`)
    const { clock, random } = life.platform
    const faults = { clock, random, ...(this.#isFaultless ? noFaults : faultChances) }
    this.#faults = faults
    this.#kubelet = this.#machine.kubelet({
      ...life,
      client: clientFor(life),
      seenRuntime: runtime => seenRuntime(faultyRuntime(runtime, faults)),
    })
    await this.#kubelet.run(AbortSignal.any([life.signal, signal]))
  }
}
