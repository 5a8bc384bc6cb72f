import type { MeasuredCgroup } from './measured-cgroup.ts'

/** A family of cAdvisor: its metrics for one cgroup. */
export interface CgroupFamily {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge'
  /** True for metrics that change while the cgroup exists: they have the time of their measurement. */
  readonly isTimed: boolean
  readonly read: (cgroup: MeasuredCgroup) => Iterable<CgroupMetric>
}

/** A value, with labels in addition to those of the cgroup. */
export type CgroupMetric = readonly [value: number, labels?: Readonly<Record<string, string>>]

type ReadCgroup = CgroupFamily['read']

export function counter(name: string, help: string, read: ReadCgroup): CgroupFamily {
  return { name, help, type: 'counter', isTimed: true, read }
}

export function gauge(name: string, help: string, read: ReadCgroup): CgroupFamily {
  return { name, help, type: 'gauge', isTimed: true, read }
}

/** A setting of the cgroup. */
export function spec(name: string, help: string, read: ReadCgroup): CgroupFamily {
  return { name, help, type: 'gauge', isTimed: false, read }
}

/** The metric of a part that the cgroup may lack. */
export function of<T>(
  part: (cgroup: MeasuredCgroup) => T | undefined,
  value: (part: T) => number,
): ReadCgroup {
  return cgroup => {
    const found = part(cgroup)
    return found === undefined ? [] : [[value(found)]]
  }
}
