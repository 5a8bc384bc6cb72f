/**
 * The real machine: the only implementation of `Platform` that reads a clock, uses the operating system's
 * random source, or opens a socket, a file or a process.
 */
import type { GrpcConnect } from './grpc.ts'
import type { Platform } from './platform.ts'
import { nodeClock } from './node/clock.ts'
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
export {
  environmentVariables,
  homeFolder,
  importModule,
  isLinux,
  lowerPriority,
  machineNames,
  makeTemporaryFolder,
  nodeCrypto,
  processId,
  processUsage,
  programCommand,
  standardInputEnd,
  terminationSignal,
} from './node/machine.ts'
export { nodeLinux } from './node/linux.ts'

/** Loaded on demand, because the gRPC library is large. */
export async function loadGrpc(): Promise<GrpcConnect> {
  const { connectGrpc } = await import('./node/grpc.ts')
  return connectGrpc
}

export interface NodePlatformOptions {
  readonly log: LogOptions
}

export function nodePlatform(options: NodePlatformOptions): Platform {
  const clock = nodeClock()
  return {
    clock,
    random: nodeRandom(),
    network: nodeNetwork(),
    files: nodeFiles(),
    processes: nodeProcesses(),
    log: standardErrorLog(clock, options.log),
  }
}
