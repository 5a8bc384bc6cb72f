import type { Linux } from '../linux.ts'
import { linuxFiles } from './linux/files.ts'
import { hostInfo } from './linux/host-info.ts'
import { linuxMounts } from './linux/mounts.ts'
import { run } from './linux/run.ts'

/** Facts about the machine that never change are read once, here. */
export async function nodeLinux(): Promise<Linux> {
  return { files: linuxFiles(), mounts: linuxMounts(), machine: await hostInfo(), run }
}
