/** What a kubelet in a process of its own has on the machine outside of its folder, recorded for its removal. */
import { join } from 'node:path'
import type { Files } from '#/platform/platform.ts'

export interface KubeletRecord {
  /** Parent of the cgroups of pods. */
  readonly cgroupRoot: string
  /** Volumes of pods. */
  readonly rootDirectory: string
  /** Folder outside of that of the kubelet to which a CNI configuration was written, for another container runtime. */
  readonly cniFolder?: string | undefined
}

/** The folder that one kubelet at a time uses. */
export function kubeletFolder(folder: string): string {
  return join(folder, 'node')
}

/** Undefined if no kubelet has run in this folder. */
export async function readKubeletRecord(files: Files, folder: string): Promise<KubeletRecord | undefined> {
  const path = recordPath(folder)
  if ((await files.stat(path)) === undefined) return undefined
  return JSON.parse(Buffer.from(await files.read(path)).toString()) as KubeletRecord
}

export async function writeKubeletRecord(files: Files, folder: string, record: KubeletRecord): Promise<void> {
  await files.write(recordPath(folder), `${JSON.stringify(record)}\n`, { mode: 0o600 })
}

function recordPath(folder: string): string {
  return join(kubeletFolder(folder), 'kubelet.json')
}
