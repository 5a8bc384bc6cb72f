/** Metrics of this process, the same for every component: `process_*` as Prometheus' clients name them, and Node's. */
import type { MetricsRegistry } from '#/base/metrics.ts'
import type { EventLoopBlocks, ProcessUsage } from './process-usage.ts'

/** `usage` is called at each scrape. */
export function addProcessMetrics(registry: MetricsRegistry, usage: () => ProcessUsage): void {
  const last = shared(usage)
  const add = (name: string, help: string, read: (usage: ProcessUsage) => number | undefined): void => {
    registry.callbackMetric({
      name,
      help,
      type: name.endsWith('_total') ? 'counter' : 'gauge',
      read: () => {
        const value = read(last())
        return value === undefined ? [] : [[[], value]]
      },
    })
  }
  add('process_cpu_seconds_total', 'User and system CPU time used.', each => each.cpuSeconds)
  add('process_resident_memory_bytes', 'Resident memory.', each => each.residentBytes)
  add('process_virtual_memory_bytes', 'Virtual memory.', each => each.details?.virtualBytes)
  add('process_virtual_memory_max_bytes', 'Limit of virtual memory.', each => each.details?.virtualBytesMax)
  add('process_start_time_seconds', 'Start of the process, in Unix time.', each => each.startedMs / 1_000)
  add('process_open_fds', 'Open file descriptors.', each => each.openFiles)
  add('process_max_fds', 'Limit of open file descriptors.', each => each.details?.openFilesMax)
  add(
    'process_network_receive_bytes_total',
    'Bytes received in the network namespace of the process.',
    each => each.details?.networkReceivedBytes,
  )
  add(
    'process_network_transmit_bytes_total',
    'Bytes sent in the network namespace of the process.',
    each => each.details?.networkSentBytes,
  )
  add('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', each => each.heapBytes)
  addEventLoopBlocks(registry, last)
}

function addEventLoopBlocks(registry: MetricsRegistry, usage: () => ProcessUsage): void {
  const add = (name: string, help: string, read: (blocks: EventLoopBlocks) => number): void => {
    registry.callbackMetric({
      name,
      help,
      type: name.endsWith('_total') ? 'counter' : 'gauge',
      labels: ['cause'],
      read: () => usage().eventLoopBlocks.map(each => [[each.cause], read(each)]),
    })
  }
  add('nodejs_event_loop_blocks_total', 'Blocks of the event loop over 50 ms.', ({ count }) => count)
  add('nodejs_event_loop_block_seconds_total', 'Time in blocks.', ({ totalMs }) => totalMs / 1_000)
  add('nodejs_event_loop_block_seconds_max', 'Longest block.', ({ longestMs }) => longestMs / 1_000)
}

/** A scrape reads all figures in one turn of the event loop, so they are read from the system once. */
function shared<T extends object>(read: () => T): () => T {
  let current: T | undefined
  return () => {
    if (current !== undefined) return current
    const value = read()
    current = value
    queueMicrotask(() => {
      current = undefined
    })
    return value
  }
}
