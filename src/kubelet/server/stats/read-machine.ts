/** Parses machine usage from kernel files. */
import type { InterfaceStats } from '../summary.ts'

export interface MachineTexts {
  readonly stat: string
  readonly meminfo: string
  readonly vmstat: string
  readonly loadavg: string
  readonly netDev: string
  readonly route: string
}

export interface MachineUsage {
  readonly cpuNanoseconds: number
  readonly bootedMs: number
  readonly memory: {
    readonly totalBytes: number
    readonly usageBytes: number
    readonly workingSetBytes: number
    readonly rssBytes: number
    readonly pageFaults: number
    readonly majorPageFaults: number
  }
  readonly swap: { readonly totalBytes: number; readonly usedBytes: number }
  readonly processes: number
  readonly interfaces: readonly InterfaceStats[]
  /** Interface of the default route. */
  readonly defaultInterface: string | undefined
}

/** USER_HZ is 100 regardless of the kernel's tick rate. */
const tickNanoseconds = 10_000_000

export function readMachine(texts: MachineTexts): MachineUsage {
  const [, line = ''] = /^cpu +(.*)$/m.exec(texts.stat) ?? []
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = line.split(' ').map(Number)
  const [, booted = '0'] = /^btime (\d+)$/m.exec(texts.stat) ?? []
  const memory = figures(texts.meminfo, 1_024)
  const events = figures(texts.vmstat, 1)
  const totalBytes = memory('MemTotal')
  const usageBytes = totalBytes - memory('MemFree')
  const [, processes = '0'] = /\/(\d+) /.exec(texts.loadavg) ?? []
  return {
    cpuNanoseconds: (user + nice + system + irq + softirq + steal) * tickNanoseconds,
    bootedMs: Number(booted) * 1_000,
    memory: {
      totalBytes,
      usageBytes,
      workingSetBytes: Math.max(0, usageBytes - memory('Inactive(file)')),
      rssBytes: memory('AnonPages'),
      pageFaults: events('pgfault'),
      majorPageFaults: events('pgmajfault'),
    },
    swap: { totalBytes: memory('SwapTotal'), usedBytes: memory('SwapTotal') - memory('SwapFree') },
    processes: Number(processes),
    interfaces: readInterfaces(texts.netDev),
    defaultInterface: /^(\S+)\t00000000\t/m.exec(texts.route)?.[1],
  }
}

/** Parses lines of the form `Name: 12 kB` or `name 12`. */
function figures(text: string, unit: number): (name: string) => number {
  const found = new Map<string, number>()
  for (const [, name = '', value = ''] of text.matchAll(/^([^\s:]+):?\s+(\d+)/gm)) {
    found.set(name, Number(value) * unit)
  }
  return name => found.get(name) ?? 0
}

function readInterfaces(text: string): readonly InterfaceStats[] {
  return [...text.matchAll(/^\s*([^\s:]+):\s*([\d ]+)$/gm)].flatMap(([, name = '', values = '']) => {
    const [rxBytes = 0, , rxErrors = 0, , , , , , txBytes = 0, , txErrors = 0] = values
      .trim()
      .split(/ +/)
      .map(Number)
    return name === 'lo' ? [] : [{ name, rxBytes, rxErrors, txBytes, txErrors }]
  })
}
