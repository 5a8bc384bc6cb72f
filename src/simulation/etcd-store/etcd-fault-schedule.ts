/** Faults of an etcd cluster and of the hosts that use it, drawn from the seed. Each ends after a while. */
import type { Simulation } from '#/platform/simulated.ts'
import type { SimulatedEtcd } from '../etcd/simulated-etcd.ts'

export interface EtcdFaultScheduleOptions {
  readonly simulation: Simulation
  readonly etcd: SimulatedEtcd
  /** Names of the hosts with a store. */
  readonly hosts: readonly string[]
  /** A host has restarted after a crash. */
  readonly restarted: (host: string) => void
}

interface Fault {
  /** What has the fault; it has only one at a time. */
  readonly subject: string
  readonly begin: () => void
  readonly end: () => void
}

const faultMsMax = 12_000
const pauseMs = 3_000

const linkFaults = ['silent', 'responses-lost', 'refused'] as const

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

  async #inject({ subject, begin, end }: Fault): Promise<void> {
    const { clock, random } = this.#options.simulation
    begin()
    await clock.sleep(1 + random.integer('length of a fault', faultMsMax))
    end()
    this.#active.delete(subject)
  }

  #draw(): Fault {
    const { simulation, etcd, hosts, restarted } = this.#options
    const { random } = simulation
    const pick = <T>(label: string, items: readonly T[]): T => items[random.integer(label, items.length)]!
    const member = pick('member', etcd.memberNames)
    const name = pick('host', hosts)
    const [onMember, onHost] = [{ subject: member }, { subject: name }]
    switch (random.integer('kind of fault', 9)) {
      case 0:
        return { ...onMember, begin: () => etcd.crash(member), end: () => etcd.restart(member) }
      case 1:
        return { ...onMember, begin: () => etcd.isolate(member), end: () => etcd.rejoin(member) }
      case 2:
        return { ...onMember, begin: () => etcd.stop(member), end: () => etcd.goOn(member) }
      case 3: {
        const lagMs = random.integer('lag', 2_000)
        return { ...onMember, begin: () => etcd.setLag(member, lagMs), end: () => etcd.setLag(member, 0) }
      }
      case 4:
        return { subject: 'leader', begin: () => etcd.changeLeader(), end: () => undefined }
      case 5:
      case 6: {
        const members = random.integer('all members', 2) === 0 ? etcd.memberNames : [member]
        const fault = pick('link fault', linkFaults)
        return {
          ...onHost,
          begin: () => etcd.disconnect(name, fault, members),
          end: () => etcd.reconnect(name),
        }
      }
      case 7:
        return {
          subject: 'space',
          begin: () => etcd.raiseAlarm('NOSPACE'),
          end: () => etcd.disarm('NOSPACE'),
        }
      default: {
        const host = simulation.host(name)
        const restart = (): void => {
          host.restart()
          restarted(name)
        }
        return { ...onHost, begin: () => host.crash(), end: restart }
      }
    }
  }
}
