import { readFileSync } from 'node:fs'
import type { ProcessDetails } from '../process-usage.ts'

/** Undefined where there is no `/proc`. */
export function processDetails(): ProcessDetails | undefined {
  try {
    const read = (name: string): string => readFileSync(`/proc/self/${name}`, 'utf8')
    return parseProcessDetails({ stat: read('stat'), limits: read('limits'), netstat: read('net/netstat') })
  } catch {
    return undefined
  }
}

/** Content of the files under `/proc/PID`; see proc(5). */
export interface ProcessFiles {
  readonly stat: string
  readonly limits: string
  readonly netstat: string
}

export function parseProcessDetails({ stat, limits, netstat }: ProcessFiles): ProcessDetails {
  // The name of the program, the second field, may contain spaces and parentheses.
  const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const counters = readCounters(netstat, 'IpExt')
  return {
    virtualBytes: Number(afterName[virtualBytesIndex]),
    virtualBytesMax: softLimit(limits, 'Max address space'),
    openFilesMax: softLimit(limits, 'Max open files'),
    networkReceivedBytes: counters.get('InOctets') ?? 0,
    networkSentBytes: counters.get('OutOctets') ?? 0,
  }
}

/** Field 23 of `/proc/PID/stat`; the first field after the name is field 3. */
const virtualBytesIndex = 20

function softLimit(limits: string, name: string): number {
  const line = limits.split('\n').find(each => each.startsWith(name)) ?? ''
  const [soft = ''] = line.slice(name.length).trim().split(/\s+/)
  return soft === 'unlimited' ? Infinity : Number(soft)
}

/** A line with names, followed by a line with their values. */
function readCounters(netstat: string, group: string): ReadonlyMap<string, number> {
  const lines = netstat.split('\n').filter(line => line.startsWith(`${group}:`))
  const [names = [], values = []] = lines.map(line => line.split(' ').slice(1))
  return new Map(names.map((name, index) => [name, Number(values[index])]))
}
