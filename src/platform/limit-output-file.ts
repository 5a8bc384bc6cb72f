/** Bounds the log files of programs that do not bound their output themselves, such as containerd and etcd. */
import type { Linux } from './linux.ts'
import type { Files } from './platform.ts'

/** Limit for each of the two files. */
export const outputBytesMax = 4 * 1_024 * 1_024

export interface OutputFile {
  readonly files: Pick<Files, 'stat' | 'truncate'>
  readonly linux: Pick<Linux, 'run'>
  readonly path: string
}

/**
 * Copies a full file to `.old` and empties it, since the program keeps it open. Lines that are appended in between are
 * lost. True if the file was emptied.
 */
export async function limitOutputFile({ files, linux, path }: OutputFile): Promise<boolean> {
  const { sizeBytes = 0 } = (await files.stat(path)) ?? {}
  if (sizeBytes <= outputBytesMax) return false
  await linux.run(['cp', path, `${path}.old`])
  await files.truncate(path, 0)
  return true
}
