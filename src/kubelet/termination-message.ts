/**
 * The last words of a container: what it wrote into its file for them or, where it is asked for and it failed without a
 * word, the end of its log.
 * https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/
 */
import { dirname } from 'node:path'
import type { ContainerStatus } from '#/cri/cri.ts'
import type { Linux } from '#/platform/linux.ts'
import { containerOfAnnotations } from './container-labels.ts'
import { logTail, type TailLimits } from './termination-message/log-tail.ts'

const messageBytesMax = 4 * 1024
const tailLimits: TailLimits = { linesMax: 80, bytesMax: 2 * 1024 }
/** Of the log, to find the lines in: they carry their times and may be in pieces. */
const logBytesMax = 64 * 1024

/** Makes the file empty, for a container that is about to be created. */
export async function makeTerminationLog({ files }: Linux, path: string): Promise<void> {
  await files.makeFolderUnsynced(dirname(path), 0o750)
  await files.writeUnsynced(path, '', 0o666)
}

/** Of a container that has ended, beside what the runtime says of that; empty when it has nothing to say. */
export async function terminationMessage(linux: Linux, status: ContainerStatus): Promise<string> {
  const { exitCode, reason, annotations, mounts, logPath } = status
  const { terminationMessagePath: path, terminationMessagePolicy: policy } =
    containerOfAnnotations(annotations)
  const hostPath =
    path === '' ? undefined : mounts.find(({ containerPath }) => containerPath === path)?.hostPath
  const isFailure = exitCode !== 0 && reason !== 'ContainerCannotRun'
  const own = hostPath === undefined ? '' : await readMessage(linux, hostPath)
  const asksLog = own === '' && policy === 'FallbackToLogsOnError' && isFailure
  return asksLog ? readLog(linux, logPath) : own
}

async function readMessage(linux: Linux, path: string): Promise<string> {
  try {
    return text(await readEnd(linux, path, messageBytesMax))
  } catch (error) {
    return `Error on reading termination log ${path}: ${String(error)}`
  }
}

async function readLog(linux: Linux, path: string): Promise<string> {
  try {
    return logTail(text(await readEnd(linux, path, logBytesMax)), tailLimits)
  } catch (error) {
    return `Error on reading termination message from logs: ${String(error)}`
  }
}

/** The file may be anything by now: the container could write there. Only a file is read, and not more than asked. */
async function readEnd({ files }: Linux, path: string, bytesMax: number): Promise<Uint8Array> {
  const status = await files.lstat(path)
  if (status?.type !== 'file') return new Uint8Array()
  const offset = Math.max(0, status.sizeBytes - bytesMax)
  return files.readRange(path, offset, bytesMax)
}

/** What is no UTF-8 could not be stored. */
function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
