import type { HostInfo } from '#/platform/linux.ts'
import type { MetricFamily } from '../metric-text.ts'

export interface MachineInput {
  readonly machine: HostInfo
  /** Content of `/proc/cpuinfo`. */
  readonly cpuinfo: string
  /** Of the kubelet. */
  readonly version: string
}

/** The machine, and the version of what measures it. */
export function machineFamilies({ machine, cpuinfo, version }: MachineInput): readonly MetricFamily[] {
  const labels = { machine_id: machine.machineId, system_uuid: machine.systemUuid, boot_id: machine.bootId }
  const gauge = (name: string, help: string, value: number): MetricFamily => {
    return { name, help, type: 'gauge', metrics: [{ labels, value }] }
  }
  const { physicalCores, sockets } = cpuTopology(cpuinfo)
  return [
    {
      name: 'cadvisor_version_info',
      help: 'Always 1; the labels are versions.',
      type: 'gauge',
      metrics: [
        {
          labels: {
            kernelVersion: machine.kernelVersion,
            osVersion: machine.osImage,
            dockerVersion: '',
            cadvisorVersion: version,
            cadvisorRevision: '',
          },
          value: 1,
        },
      ],
    },
    gauge('machine_cpu_cores', 'Logical CPUs.', machine.processors),
    gauge('machine_cpu_physical_cores', 'Physical CPU cores.', physicalCores || machine.processors),
    gauge('machine_cpu_sockets', 'CPU sockets.', sockets || 1),
    gauge('machine_memory_bytes', 'Memory of the machine.', machine.memoryBytes),
    gauge('machine_swap_bytes', 'Swap space of the machine.', machine.swapBytes),
    {
      name: 'machine_scrape_error',
      help: '1 if the machine could not be measured.',
      type: 'gauge',
      metrics: [{ labels: {}, value: cpuinfo === '' ? 1 : 0 }],
    },
  ]
}

/** 0 where the processor does not tell. A core id is unique within its socket only. */
function cpuTopology(cpuinfo: string): { readonly physicalCores: number; readonly sockets: number } {
  const sockets = new Set<string>()
  const cores = new Set<string>()
  for (const processor of cpuinfo.split(/\n\s*\n/)) {
    const socket = /^physical id\s*:\s*(\d+)$/m.exec(processor)?.[1]
    const core = /^core id\s*:\s*(\d+)$/m.exec(processor)?.[1]
    if (socket !== undefined) sockets.add(socket)
    if (core !== undefined) cores.add(`${socket}/${core}`)
  }
  return { physicalCores: cores.size, sockets: sockets.size }
}
