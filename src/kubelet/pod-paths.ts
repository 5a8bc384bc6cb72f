/**
 * Where things of a pod are: its files, and its control group. Names of containers are DNS labels and uids are uuids,
 * or hashes for static pods. A uid may also come from what others left on this machine, so that one that would lead
 * elsewhere is refused here.
 */
import { join } from 'node:path'
import type { Pod } from '#/api/generated/core/v1.ts'
import { qosClassOf, type QosClass } from '#/api/qos-class.ts'
import { assert } from '#/base/assert.ts'
import type { NodeSettings } from './node-settings.ts'

type Folder = Pick<NodeSettings, 'folder'>

/** Has a folder for each pod, named by its uid. */
export function podsFolder({ folder }: Folder): string {
  return join(folder, 'pods')
}

export function podFolder(node: Folder, uid: string): string {
  return join(podsFolder(node), checked(uid))
}

/** What containers of the pod see as /etc/hosts. */
export function hostsFilePath(node: Folder, uid: string): string {
  return join(podFolder(node, uid), 'etc-hosts')
}

/** The file into which a container writes why it ended; it must be there, mode 0666, before the container is. */
export function terminationLogPath(node: Folder, uid: string, container: string, attempt: number): string {
  return join(podFolder(node, uid), 'containers', container, String(attempt))
}

/** Has a folder for each container of the pod. */
export function podLogFolder({ logsFolder }: Pick<NodeSettings, 'logsFolder'>, pod: Pod): string {
  const { namespace = '', name = '', uid = '' } = pod.metadata ?? {}
  return join(logsFolder, `${namespace}_${name}_${uid}`)
}

/** Below the pod's log folder. */
export function containerLogPath(container: string, attempt: number): string {
  return join(container, `${attempt}.log`)
}

/** Profiles that pods name are below this. */
export function seccompFolder({ folder }: Folder): string {
  return join(folder, 'seccomp')
}

/** The control group that all pods of the node are in. */
export function podsCgroup({ cgroupRoot }: Pick<NodeSettings, 'cgroupRoot'>): string {
  return join('/', cgroupRoot, 'kubepods')
}

/** Where pods of a class have their control groups. */
export function classCgroup(node: Pick<NodeSettings, 'cgroupRoot'>, qosClass: QosClass): string {
  return qosClass === 'Guaranteed' ? podsCgroup(node) : join(podsCgroup(node), qosClass.toLowerCase())
}

/** The control group of a pod; those of its containers are below it. */
export function podCgroup(node: Pick<NodeSettings, 'cgroupRoot'>, pod: Pod): string {
  return podCgroupOf(node, qosClassOf(pod), pod.metadata?.uid ?? '')
}

export function podCgroupOf(node: Pick<NodeSettings, 'cgroupRoot'>, qosClass: QosClass, uid: string): string {
  return join(classCgroup(node, qosClass), `pod${checked(uid)}`)
}

function checked(uid: string): string {
  assert(/^[^/]+$/.test(uid) && uid !== '.' && uid !== '..', `${uid} is no uid of a pod`)
  return uid
}
