/** A cluster of hosts on this machine, made by `k8ts init` and `k8ts join` as on separate machines. */
import { join } from 'node:path'
import { machineWideName } from '../temporary-folder.ts'
import { HostMachine, program } from './host-machine.ts'
import { HostNetwork, type Host, type HostNetworkOptions } from './host-network.ts'

export interface HostClusterOptions extends Pick<HostNetworkOptions, 'bridge'> {
  /** Empty, for the files of the hosts. */
  readonly folder: string
  readonly controlPlanes: number
  readonly workers: number
  /** Of every control plane. */
  readonly controlPlaneAs?: 'process' | 'static-pod'
}

export class HostCluster implements AsyncDisposable {
  readonly machines: readonly HostMachine[]
  readonly #options: HostClusterOptions
  readonly #network: HostNetwork

  private constructor(options: HostClusterOptions, machines: readonly HostMachine[], network: HostNetwork) {
    this.#options = options
    this.machines = machines
    this.#network = network
  }

  /** The hosts without Kubernetes. */
  static async boot(options: HostClusterOptions): Promise<HostCluster> {
    const { folder, bridge, controlPlanes, workers } = options
    // Control groups have the names of hosts.
    const name = machineWideName()
    const machines: HostMachine[] = []
    const network = await HostNetwork.create({
      count: controlPlanes + workers,
      bridge,
      startHost: async number => {
        const machine = await HostMachine.boot({
          name: `${name}-${number}`,
          folder: join(folder, `host-${number}`),
        })
        machines.push(machine)
        return machine
      },
    })
    return new HostCluster(options, machines, network)
  }

  /** Initializes the first host, and joins the others. */
  async start(): Promise<void> {
    const [first, ...others] = this.machines
    const { controlPlane, worker } = await this.init(first!)
    for (const [index, machine] of others.entries()) {
      const isControlPlane = index + 1 < this.#options.controlPlanes
      await machine.output(...(isControlPlane ? controlPlane : worker))
    }
  }

  /** Resolves to the printed commands. */
  async init(machine: HostMachine): Promise<JoinCommands> {
    const { controlPlaneAs = 'process' } = this.#options
    const flags = ['--local-etcd', '--upload-certs', '--control-plane-as', controlPlaneAs]
    const printed = await machine.output(program, 'init', ...flags)
    const [worker = [], controlPlane = []] = [...printed.matchAll(/^ {2}k8ts (join .*)$/gm)].map(
      ([, words = '']) => [program, ...words.split(' ')],
    )
    return { worker, controlPlane }
  }

  addressOf(machine: HostMachine): string {
    return this.#hostOf(machine).address
  }

  /** Pulls the cable of a host. */
  async cutOff(machine: HostMachine): Promise<void> {
    await this.#network.cutOff(this.#hostOf(machine))
  }

  async reconnect(machine: HostMachine): Promise<void> {
    await this.#network.reconnect(this.#hostOf(machine))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#network[Symbol.asyncDispose]()
  }

  #hostOf(machine: HostMachine): Host {
    return this.#network.hosts[this.machines.indexOf(machine)]!
  }
}

export interface JoinCommands {
  readonly worker: readonly string[]
  readonly controlPlane: readonly string[]
}
