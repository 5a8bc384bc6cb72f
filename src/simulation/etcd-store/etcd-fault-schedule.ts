/** Faults of an etcd cluster and of the hosts that use it, drawn from the seed. Each ends after a while. */
import type { Simulation } from '#/platform/simulated.ts'
import { drawEtcdFault, type EtcdFault } from '../etcd/draw-etcd-fault.ts'
import type { SimulatedEtcd } from '../etcd/simulated-etcd.ts'

export interface EtcdFaultScheduleOptions {
  readonly simulation: Simulation
  readonly etcd: SimulatedEtcd
  /** Names of the hosts with a store. */
  readonly hosts: readonly string[]
  /** A host has restarted after a crash. */
  readonly restarted: (host: string) => void
}

const faultMsMax = 12_000
const pauseMs = 3_000

export class EtcdFaultSchedule {
  readonly #options: EtcdFaultScheduleOptions
  readonly #active = new Map<string, Promise<void>>()

  constructor(options: EtcdFaultScheduleOptions) {
    this.#options = options
  }

  /** Resolves when all faults have ended. */
  async run(durationMs: number): Promise<void> {
    const { clock, random } = this.#options.simulation
    const endMs = clock.monotonicMs() + durationMs
    while (clock.monotonicMs() < endMs) {
      await clock.sleep(random.integer('pause between faults', pauseMs))
      const fault = this.#draw()
      if (this.#active.has(fault.subject)) continue
      this.#active.set(fault.subject, this.#inject(fault))
    }
    await Promise.all(this.#active.values())
  }

  async #inject({ subject, begin, end }: EtcdFault): Promise<void> {
    const { clock, random } = this.#options.simulation
    begin()
    await clock.sleep(1 + random.integer('length of a fault', faultMsMax))
    end()
    this.#active.delete(subject)
  }

  #draw(): EtcdFault {
    const { simulation, etcd, hosts, restarted } = this.#options
    const { random } = simulation
    switch (random.integer('kind of fault', 9)) {
      case 0:
        return {
          subject: 'space',
          what: 'runs out',
          begin: () => etcd.raiseAlarm('NOSPACE'),
          end: () => etcd.disarm('NOSPACE'),
        }
      case 1: {
        const name = hosts[random.integer('host', hosts.length)]!
        const host = simulation.host(name)
        const end = (): void => {
          host.restart()
          restarted(name)
        }
        return { subject: name, what: 'crashes', begin: () => host.crash(), end }
      }
      default:
        return drawEtcdFault(etcd, hosts, random)
    }
  }
}
