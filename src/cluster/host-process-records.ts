/**
 * The processes of a host, as recorded in its folder: `init` and `join` write the records, and `k8ts host run` runs
 * what they say, as a kubelet does with the manifests of static pods.
 */
import { join } from 'node:path'
import type { Files } from '#/platform/platform.ts'

export interface HostProcessRecord {
  /** As in Kubernetes: `kube-apiserver`. */
  readonly name: string
  /** `k8ts` as the first word means this program, so that an upgrade needs no new records. */
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

export function processesFolder(folder: string): string {
  return join(folder, 'processes')
}

/** Path of the output of a process. */
export function processLogPath(folder: string, name: string): string {
  return join(folder, 'logs', `${name}.log`)
}

/** Sorted by name. */
export async function readHostProcessRecords(
  files: Files,
  folder: string,
): Promise<readonly HostProcessRecord[]> {
  const records = processesFolder(folder)
  if ((await files.stat(records)) === undefined) return []
  const names = (await files.list(records)).filter(name => name.endsWith('.json'))
  const read = await Promise.all(names.map(name => readRecord(files, join(records, name))))
  return read.filter(record => record !== undefined)
}

/** Undefined if the record was deleted meanwhile. */
async function readRecord(files: Files, path: string): Promise<HostProcessRecord | undefined> {
  try {
    return JSON.parse(Buffer.from(await files.read(path)).toString()) as HostProcessRecord
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new Error(`cannot read the process record ${path}`, { cause })
  }
}

export async function writeHostProcessRecord(
  files: Files,
  folder: string,
  record: HostProcessRecord,
): Promise<void> {
  await files.makeFolder(processesFolder(folder), { mode: 0o700 })
  const text = `${JSON.stringify(record, undefined, 2)}\n`
  await files.write(join(processesFolder(folder), `${record.name}.json`), text, { mode: 0o600 })
}

export async function removeHostProcessRecord(files: Files, folder: string, name: string): Promise<void> {
  await files.remove(join(processesFolder(folder), `${name}.json`))
}

/** Value of a flag in the command of a process; undefined without the process or the flag. */
export function processFlag(
  records: readonly HostProcessRecord[],
  process: string,
  flag: string,
): string | undefined {
  const prefix = `--${flag}=`
  const word = records.find(({ name }) => name === process)?.command.find(each => each.startsWith(prefix))
  return word?.slice(prefix.length)
}
