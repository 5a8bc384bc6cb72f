/**
 * The real machine: the only implementation of `Platform` that reads a clock, uses the operating system's
 * random source, or opens a socket, a file or a process.
 */
import type { GrpcConnect } from './grpc.ts'
import type { Platform } from './platform.ts'
import { ThrottledLog } from './throttled-log.ts'
import { nodeClock } from './node/clock.ts'
import { EventLoopWatchdog } from './node/event-loop-watchdog.ts'
import { nodeFiles } from './node/files.ts'
import { standardErrorLog, type LogOptions } from './node/log.ts'
import { nodeNetwork } from './node/network.ts'
import { nodeProcesses } from './node/processes.ts'
import { nodeRandom } from './node/random.ts'

export type { Platform } from './platform.ts'
export { collectGarbageWhenIdle } from './node/garbage-collection.ts'
export { processMemory } from './node/process-memory.ts'
export { isProcessAlive, signalProcess, startDetached } from './node/detached.ts'
export { connectHttp } from './node/http-client.ts'
export { serveHttp } from './node/http.ts'
export { environmentVariables } from './node/environment.ts'
export { nodeIOStreams } from './node/io-streams.ts'
export { nodeStreamProtocols } from './node/stream-protocols.ts'
export {
  homeFolder,
  importModule,
  isLinux,
  isOutputFile,
  lowerPriority,
  machineNames,
  makeTemporaryFolder,
  nodeCrypto,
  processId,
  processUsage,
  programCommand,
  programPaths,
  readInputLine,
  standardInputEnd,
  terminationSignal,
} from './node/machine.ts'
export { nodeProfiler } from './node/profiler.ts'
export { nodeLinux } from './node/linux.ts'
export {
  crashExitCode,
  findLauncher,
  findSupervisor,
  handOverExitCode,
  reportCrashes,
  type Supervisor,
} from './node/supervisor.ts'

/** Loaded on demand, because the gRPC library is large. */
export async function loadGrpc(): Promise<GrpcConnect> {
  const { connectGrpc } = await import('./node/grpc.ts')
  return connectGrpc
}

export interface NodePlatformOptions {
  readonly log: LogOptions
}

export function nodePlatform(options: NodePlatformOptions): Platform {
  const watchdog = new EventLoopWatchdog(block => {
    const { cause, detail, durationMs } = block
    const fields = { cause, ...(detail !== '' && { work: detail }), durationMs: Math.round(durationMs) }
    // A busy machine is not a defect of this process.
    if (cause === 'not running') log.debug('Event loop blocked', fields)
    else throttled.warn(cause, 'Event loop blocked', fields)
  })
  const clock = nodeClock((kind, detail) => watchdog.begin(kind, detail))
  const log = standardErrorLog(clock, options.log)
  const throttled = new ThrottledLog({ clock, log })
  return {
    clock,
    random: nodeRandom(),
    network: nodeNetwork(),
    files: nodeFiles(),
    processes: nodeProcesses(),
    log,
  }
}
