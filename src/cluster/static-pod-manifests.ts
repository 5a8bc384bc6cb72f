/** The manifests of a control plane that runs as static pods, in the folder of manifests of the kubelet. */
import { join } from 'node:path'
import type { Pod } from '#/api/generated/core/v1.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { formatTime } from '#/api/text/time.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import { messageOf } from '#/base/message-of.ts'
import { planStaticPodRestart, processOfStaticPod, staticPodNames } from '#/kubeadm/static-pod.ts'
import type { Files } from '#/platform/platform.ts'
import { readHostProcessRecords, type HostProcessRecord } from './host-process-records.ts'
import { nodeFolders } from './node-folders.ts'

export function manifestPath(folder: string, name: string): string {
  return join(nodeFolders(folder).manifests, `${name}.yaml`)
}

export async function writeManifest(files: Files, folder: string, pod: Pod): Promise<void> {
  await files.makeFolder(nodeFolders(folder).manifests, { mode: 0o700 })
  // Manifests are plain data.
  const text = stringifyYaml(pod as unknown as JsonValue)
  await files.write(manifestPath(folder, pod.metadata.name ?? ''), text, { mode: 0o600 })
}

/** Does nothing without a manifest of this name. */
export async function restartStaticPod(
  files: Files,
  { folder, name, nowMs }: { readonly folder: string; readonly name: string; readonly nowMs: number },
): Promise<void> {
  const pod = await readManifest(files, folder, name)
  if (pod !== undefined) await writeManifest(files, folder, planStaticPodRestart(pod, formatTime(nowMs)))
}

/** All components of a host, which are processes or static pods. */
export async function readHostComponents(
  files: Files,
  folder: string,
): Promise<readonly HostProcessRecord[]> {
  const pods = await Promise.all(staticPodNames.map(name => readManifest(files, folder, name)))
  const processes = pods.filter(pod => pod !== undefined).map(processOfStaticPod)
  return [...(await readHostProcessRecords(files, folder)), ...processes]
}

/** Undefined without the file. */
export async function readManifest(files: Files, folder: string, name: string): Promise<Pod | undefined> {
  const path = manifestPath(folder, name)
  if ((await files.stat(path)) === undefined) return undefined
  try {
    return parseYaml(Buffer.from(await files.read(path)).toString()) as unknown as Pod
  } catch (cause) {
    throw new Error(`cannot read the manifest ${path}: ${messageOf(cause)}`, { cause })
  }
}
