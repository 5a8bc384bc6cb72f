import type { PressureResource } from '../../cgroup-stats.ts'
import { counter, gauge, type CgroupFamily, type CgroupMetric } from './cgroup-family.ts'
import type { DiskStats } from './disk-stats.ts'
import type { Filesystem } from './measured-cgroup.ts'
import type { DirectionUsage } from './network-interfaces.ts'

type Device = {
  readonly readBytes: number
  readonly writtenBytes: number
  readonly reads: number
  readonly writes: number
}

function filesystem(value: (own: Filesystem) => number): CgroupFamily['read'] {
  return ({ filesystems }) => filesystems.map(own => [value(own), { device: own.device }])
}

/** Figures of the machine's disks are those of the disk, of other cgroups those of the cgroup. */
function disk(
  ofMachine: (own: DiskStats) => number,
  ofCgroup?: (own: Device) => number,
): CgroupFamily['read'] {
  return ({ stats, filesystems }) => {
    const found = new Map<string, number>()
    for (const own of ofCgroup ? stats.devices : []) found.set(own.device, ofCgroup!(own))
    for (const own of filesystems) if (own.disk) found.set(own.device, ofMachine(own.disk))
    return Array.from(found, ([device, value]): CgroupMetric => [value, { device }])
  }
}

const sectorBytes = 512

export const diskFamilies: readonly CgroupFamily[] = [
  gauge(
    'container_fs_limit_bytes',
    'Size of the filesystem.',
    filesystem(own => own.limitBytes),
  ),
  gauge(
    'container_fs_usage_bytes',
    'Used bytes of the filesystem.',
    filesystem(own => own.usedBytes),
  ),
  gauge(
    'container_fs_inodes_total',
    'Inodes of the filesystem.',
    filesystem(own => own.inodes),
  ),
  gauge(
    'container_fs_inodes_free',
    'Free inodes of the filesystem.',
    filesystem(own => own.freeInodes),
  ),
  counter(
    'container_fs_reads_bytes_total',
    'Bytes read.',
    disk(
      own => own.sectorsRead * sectorBytes,
      own => own.readBytes,
    ),
  ),
  counter(
    'container_fs_writes_bytes_total',
    'Bytes written.',
    disk(
      own => own.sectorsWritten * sectorBytes,
      own => own.writtenBytes,
    ),
  ),
  counter(
    'container_fs_reads_total',
    'Reads.',
    disk(
      own => own.reads,
      own => own.reads,
    ),
  ),
  counter(
    'container_fs_writes_total',
    'Writes.',
    disk(
      own => own.writes,
      own => own.writes,
    ),
  ),
  counter(
    'container_fs_reads_merged_total',
    'Reads that were merged.',
    disk(own => own.readsMerged),
  ),
  counter(
    'container_fs_writes_merged_total',
    'Writes that were merged.',
    disk(own => own.writesMerged),
  ),
  counter(
    'container_fs_sector_reads_total',
    'Sectors read.',
    disk(own => own.sectorsRead),
  ),
  counter(
    'container_fs_sector_writes_total',
    'Sectors written.',
    disk(own => own.sectorsWritten),
  ),
  counter(
    'container_fs_read_seconds_total',
    'Time of reads.',
    disk(own => own.readSeconds),
  ),
  counter(
    'container_fs_write_seconds_total',
    'Time of writes.',
    disk(own => own.writeSeconds),
  ),
  gauge(
    'container_fs_io_current',
    'Operations in progress.',
    disk(own => own.inProgress),
  ),
  counter(
    'container_fs_io_time_seconds_total',
    'Time with operations.',
    disk(own => own.ioSeconds),
  ),
  counter(
    'container_fs_io_time_weighted_seconds_total',
    'Time of all operations together.',
    disk(own => own.weightedIoSeconds),
  ),
]

const networkFigures: readonly (readonly [
  suffix: string,
  help: string,
  value: (own: DirectionUsage) => number,
])[] = [
  ['bytes_total', 'Bytes', own => own.bytes],
  ['packets_total', 'Packets', own => own.packets],
  ['packets_dropped_total', 'Packets dropped', own => own.dropped],
  ['errors_total', 'Errors', own => own.errors],
]

export const networkFamilies: readonly CgroupFamily[] = (['receive', 'transmit'] as const).flatMap(
  direction =>
    networkFigures.map(([suffix, help, value]) =>
      counter(
        `container_network_${direction}_${suffix}`,
        `${help}, ${direction} direction.`,
        ({ interfaces }) => interfaces.map(own => [value(own[direction]), { interface: own.name }]),
      ),
    ),
)

const pressureResources: readonly PressureResource[] = ['cpu', 'memory', 'io']

export const pressureFamilies: readonly CgroupFamily[] = pressureResources.flatMap(resource => [
  counter(
    `container_pressure_${resource}_waiting_seconds_total`,
    `Time in which a task waited for ${resource}.`,
    ({ stats }) => (stats.pressure[resource] ? [[stats.pressure[resource].waitingSeconds]] : []),
  ),
  counter(
    `container_pressure_${resource}_stalled_seconds_total`,
    `Time in which all tasks waited for ${resource}.`,
    ({ stats }) => (stats.pressure[resource] ? [[stats.pressure[resource].stalledSeconds]] : []),
  ),
])
