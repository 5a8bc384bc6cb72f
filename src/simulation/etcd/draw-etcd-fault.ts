/** Faults of an etcd cluster and of its connections, drawn from the seed. */
import type { Random } from '#/platform/platform.ts'
import type { SimulatedEtcd } from './simulated-etcd.ts'

export interface EtcdFault {
  /** What has the fault; it should have only one at a time. */
  readonly subject: string
  readonly what: string
  readonly begin: () => void
  readonly end: () => void
}

const linkFaults = ['silent', 'responses-lost', 'refused'] as const

/** A fault of a member, of the leader, or of the connections of one of these hosts. */
export function drawEtcdFault(etcd: SimulatedEtcd, hosts: readonly string[], random: Random): EtcdFault {
  const pick = <T>(label: string, items: readonly T[]): T => items[random.integer(label, items.length)]!
  const member = pick('etcd member', etcd.memberNames)
  const onMember = { subject: member }
  switch (random.integer('kind of etcd fault', 7)) {
    case 0:
      return {
        ...onMember,
        what: 'crashes',
        begin: () => etcd.crash(member),
        end: () => etcd.restart(member),
      }
    case 1:
      return {
        ...onMember,
        what: 'is isolated',
        begin: () => etcd.isolate(member),
        end: () => etcd.rejoin(member),
      }
    case 2:
      return { ...onMember, what: 'is stopped', begin: () => etcd.stop(member), end: () => etcd.goOn(member) }
    case 3: {
      const lagMs = random.integer('lag', 2_000)
      return {
        ...onMember,
        what: `lags by ${lagMs} ms`,
        begin: () => etcd.setLag(member, lagMs),
        end: () => etcd.setLag(member, 0),
      }
    }
    case 4:
      return {
        subject: 'etcd leader',
        what: 'changes',
        begin: () => etcd.changeLeader(),
        end: () => undefined,
      }
    default: {
      const host = pick('host of etcd fault', hosts)
      const members = random.integer('all members', 2) === 0 ? etcd.memberNames : [member]
      const fault = pick('link fault', linkFaults)
      return {
        subject: `${host} to etcd`,
        what: `is disconnected, ${fault},`,
        begin: () => etcd.disconnect(host, fault, members),
        end: () => etcd.reconnect(host),
      }
    }
  }
}
