/**
 * Paths of a pod's files and cgroups. Container names are DNS labels; UIDs are UUIDs, or hashes for static
 * pods. UIDs can also come from leftovers on the machine, so those that would escape the directory are
 * rejected.
 */
import { join } from 'node:path'
import { qosClassOf, type QosClass } from '#/api/core/qos-class.ts'
import { assert } from '#/base/assert.ts'
import type { KubeletConfiguration } from './kubelet-configuration.ts'
import type { KubeletPod } from './kubelet-pod.ts'

type Folder = Pick<KubeletConfiguration, 'rootDirectory'>

/** Contains one directory per pod, named by UID. */
export function podsFolder({ rootDirectory }: Folder): string {
  return join(rootDirectory, 'pods')
}

export function podFolder(node: Folder, uid: string): string {
  return join(podsFolder(node), checked(uid))
}

/** File mounted as /etc/hosts. */
export function hostsFilePath(node: Folder, uid: string): string {
  return join(podFolder(node, uid), 'etc-hosts')
}

/** Termination message file of a container; it must exist with mode 0666 before the container is created. */
export function terminationMessagePath(
  node: Folder,
  { uid, container, attempt }: { readonly uid: string; readonly container: string; readonly attempt: number },
): string {
  return join(podFolder(node, uid), 'containers', container, String(attempt))
}

/** Contains one directory per container. */
export function podLogFolder(
  { podLogsDir }: Pick<KubeletConfiguration, 'podLogsDir'>,
  pod: KubeletPod,
): string {
  const { namespace, name, uid } = pod.metadata
  return join(podLogsDir, `${namespace}_${name}_${uid}`)
}

/** Relative to the pod's log directory. */
export function containerLogPath(container: string, attempt: number): string {
  return join(container, `${attempt}.log`)
}

/** Root of localhost seccomp profiles. */
export function seccompFolder({ rootDirectory }: Folder): string {
  return join(rootDirectory, 'seccomp')
}

/** Parent cgroup of all pods of the node. */
export function kubepodsCgroup({ cgroupRoot }: Pick<KubeletConfiguration, 'cgroupRoot'>): string {
  return join('/', cgroupRoot, 'kubepods')
}

/** Parent cgroup of a QoS class's pods. */
export function qosCgroup(node: Pick<KubeletConfiguration, 'cgroupRoot'>, qosClass: QosClass): string {
  return qosClass === 'Guaranteed' ? kubepodsCgroup(node) : join(kubepodsCgroup(node), qosClass.toLowerCase())
}

/** Parent cgroup of the pod's containers. */
export function podCgroup(node: Pick<KubeletConfiguration, 'cgroupRoot'>, pod: KubeletPod): string {
  return podCgroupOf(node, qosClassOf(pod), pod.metadata.uid)
}

export function podCgroupOf(
  node: Pick<KubeletConfiguration, 'cgroupRoot'>,
  qosClass: QosClass,
  uid: string,
): string {
  return join(qosCgroup(node, qosClass), `pod${checked(uid)}`)
}

function checked(uid: string): string {
  assert(/^[^/]+$/.test(uid) && uid !== '.' && uid !== '..', `${uid} is no uid of a pod`)
  return uid
}
