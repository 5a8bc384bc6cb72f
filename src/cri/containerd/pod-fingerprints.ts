import type { ContainerSummary, SandboxSummary } from '../cri.ts'
import { podUidLabel } from './common-messages.ts'

/** Per pod UID, a string that changes whenever the state of a sandbox or container of the pod changes. */
export type PodFingerprints = ReadonlyMap<string, string>

export function podFingerprints(
  sandboxes: readonly SandboxSummary[],
  containers: readonly ContainerSummary[],
): PodFingerprints {
  const parts = new Map<string, string[]>()
  const note = (uid: string, part: string): void => {
    const known = parts.get(uid)
    if (known) known.push(part)
    else parts.set(uid, [part])
  }
  for (const { id, metadata, state } of sandboxes) note(metadata.uid, `${id} ${state}`)
  for (const { id, labels, state } of containers) note(labels[podUidLabel] ?? '', `${id} ${state}`)
  return new Map([...parts].map(([uid, list]) => [uid, list.sort().join('\n')]))
}

/** Pods that were added, removed or changed. */
export function changedPods(before: PodFingerprints, after: PodFingerprints): string[] {
  const gone = [...before.keys()].filter(uid => !after.has(uid))
  const different = [...after].filter(([uid, print]) => before.get(uid) !== print).map(([uid]) => uid)
  return [...gone, ...different]
}
