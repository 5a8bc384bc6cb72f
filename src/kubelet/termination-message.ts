/**
 * Termination message of a container: the content of its termination message file or, if the container
 * failed, the file is empty and the policy is `FallbackToLogsOnError`, the end of its log.
 * https://kubernetes.io/docs/tasks/debug/debug-application/determine-reason-pod-failure/
 */
import { dirname } from 'node:path'
import type { ContainerStatus } from '#/cri/cri.ts'
import type { Linux } from '#/platform/linux.ts'
import { containerOfAnnotations } from './container-labels.ts'

const messageBytesMax = 4 * 1024
const tailLimits: TailLimits = { linesMax: 80, bytesMax: 2 * 1024 }
/** Bytes of the log to search: lines contain timestamps and may be partial. */
const logBytesMax = 64 * 1024

/** Creates an empty file before the container is created. */
export async function createTerminationMessageFile({ files }: Linux, path: string): Promise<void> {
  await files.makeFolderUnsynced(dirname(path), 0o750)
  await files.writeUnsynced(path, '', 0o666)
}

/** Termination message of an exited container; empty if there is none. */
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

/** The container could replace the file with anything: only regular files are read, up to the limit. */
async function readEnd({ files }: Linux, path: string, bytesMax: number): Promise<Uint8Array> {
  const status = await files.lstat(path)
  if (status?.type !== 'file') return new Uint8Array()
  const offset = Math.max(0, status.sizeBytes - bytesMax)
  return files.readRange(path, offset, bytesMax)
}

/** Only valid UTF-8 can be stored. */
function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

interface TailLimits {
  readonly linesMax: number
  readonly bytesMax: number
}

/**
 * Tail of a CRI log, whose lines are `<time> stdout|stderr F|P text`. `log` may start within a line, which is
 * dropped.
 */
export function logTail(log: string, { linesMax, bytesMax }: TailLimits): string {
  const lines: string[] = []
  let pieces = ''
  for (const record of log.split('\n')) {
    const [, kind, content = ''] = /^\S+T\S+ (?:stdout|stderr) ([FP])[^ ]* ?(.*)$/s.exec(record) ?? []
    if (kind === undefined) continue
    pieces += content
    if (kind === 'P') continue
    lines.push(`${pieces}\n`)
    pieces = ''
  }
  if (pieces !== '') lines.push(pieces)
  return lastBytes(lines.slice(-linesMax).join(''), bytesMax)
}

/** Truncates at a character boundary. */
function lastBytes(text: string, bytesMax: number): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= bytesMax) return text
  let start = bytes.length - bytesMax
  while (start < bytes.length && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++
  return bytes.subarray(start).toString()
}
