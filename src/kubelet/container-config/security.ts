/**
 * Effective security context of a container: container fields override pod fields.
 * https://kubernetes.io/docs/tasks/configure-pod-container/security-context/
 */
import { join } from 'node:path'
import type {
  AppArmorProfile,
  Container,
  Pod,
  SeccompProfile,
  SELinuxOptions,
} from '#/api/generated/core/v1.ts'
import { checkUserId } from '#/api/names.ts'
import type { Int64 } from '#/api/text/int64.ts'
import { quote } from '#/api/text/quote.ts'
import type {
  ContainerSecurity,
  Image,
  NamespaceOptions,
  SandboxSecurity,
  SecurityProfile,
  SelinuxOptions,
  RuntimeHandler,
} from '#/cri/cri.ts'
import type { ContainerInput, ContainerVolume, SandboxContext, UserMappings } from '../container-input.ts'
import type { MachineInfo } from '../machine-info.ts'
import type { KubeletConfiguration } from '../kubelet-configuration.ts'
import { seccompFolder } from '../pod-paths.ts'
import { formatPod, type KubeletPod } from '../kubelet-pod.ts'

type SecurityInput = Pick<
  ContainerInput,
  'pod' | 'container' | 'image' | 'volumes' | 'node' | 'machine' | 'handler' | 'users' | 'targetContainerId'
>

export function containerSecurity(input: SecurityInput): ContainerSecurity {
  const { pod, container, image, node, machine } = input
  verifyRunAsNonRoot(pod, container, image)
  const { securityContext: own = {} } = container
  const user = userOf(pod, container, image)
  const runAsGroup = own.runAsGroup ?? pod.spec?.securityContext?.runAsGroup
  const selinux = selinuxOf(own.seLinuxOptions ?? pod.spec?.securityContext?.seLinuxOptions)
  const apparmor = appArmorOf(pod, container)
  return {
    namespaces: withTarget(namespacesOf(pod, input), input.targetContainerId),
    privileged: own.privileged ?? false,
    addCapabilities: own.capabilities?.add ?? [],
    dropCapabilities: own.capabilities?.drop ?? [],
    ...user,
    ...(runAsGroup !== undefined && { runAsGroup: Number(runAsGroup) }),
    ...(selinux && { selinux }),
    readonlyRootfs: own.readOnlyRootFilesystem ?? false,
    ...groupsOf(pod, input.volumes),
    noNewPrivileges: own.allowPrivilegeEscalation === false,
    ...procPaths(own.procMount, machine),
    seccomp: seccompOf(own.seccompProfile ?? pod.spec?.securityContext?.seccompProfile, node),
    ...(apparmor && { apparmor }),
  }
}

export function sandboxSecurity(pod: KubeletPod, context: SandboxContext): SandboxSecurity {
  const { runAsUser, runAsGroup, seLinuxOptions } = pod.spec?.securityContext ?? {}
  const selinux = selinuxOf(seLinuxOptions)
  return {
    namespaces: namespacesOf(pod, context),
    ...(selinux && { selinux }),
    ...(runAsUser !== undefined && { runAsUser: Number(runAsUser) }),
    ...(runAsGroup !== undefined && { runAsGroup: Number(runAsGroup) }),
    readonlyRootfs: false,
    ...groupsOf(pod, new Map()),
    privileged: allContainers(pod).some(({ securityContext }) => securityContext?.privileged ?? false),
    // The pause container needs no other profile, whatever the pod's containers use.
    seccomp: { type: 'RuntimeDefault' },
  }
}

function allContainers({ spec }: Pod): readonly Container[] {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {}
  return [...initContainers, ...containers, ...ephemeralContainers]
}

/** From the spec, otherwise from the image, otherwise root. */
function userOf(
  pod: KubeletPod,
  { securityContext }: Container,
  image: Image,
): Pick<ContainerSecurity, 'runAsUser' | 'runAsUsername'> {
  const asked = securityContext?.runAsUser ?? pod.spec?.securityContext?.runAsUser
  if (asked !== undefined) return { runAsUser: Number(asked) }
  if (image.uid !== undefined) return { runAsUser: image.uid }
  return image.username ? { runAsUsername: image.username } : { runAsUser: 0 }
}

/**
 * Enforces `runAsNonRoot`: rejects containers that would run as root or have a user name that cannot be
 * verified.
 */
function verifyRunAsNonRoot(pod: KubeletPod, container: Container, image: Image): void {
  const { securityContext: ofPod } = pod.spec ?? {}
  const { securityContext: own } = container
  if (!(own?.runAsNonRoot ?? ofPod?.runAsNonRoot ?? false)) return
  const asked = own?.runAsUser ?? ofPod?.runAsUser
  const where = `(pod: ${quote(formatPod(pod))}, container: ${container.name})`
  if (asked !== undefined) {
    if (Number(asked) === 0) throw new Error(`container's runAsUser breaks non-root policy ${where}`)
    return
  }
  const { uid, username = '' } = image
  if (uid === undefined && username !== '') {
    throw new Error(
      `container has runAsNonRoot and image has non-numeric user (${username}), ` +
        `cannot verify user is non-root ${where}`,
    )
  }
  if ((uid ?? 0) === 0) throw new Error(`container has runAsNonRoot and image will run as root ${where}`)
  const errors = checkUserId(uid ?? 0)
  if (errors.length > 0) {
    throw new Error(
      `container has runAsNonRoot and image has an invalid user id (${uid}). ` +
        `(Must be 1-(2147483647)): ${errors.join('; ')} ${where}`,
    )
  }
}

/** `fsGroup` owns the pod's volumes, so all of its containers get the group. */
function groupsOf(
  pod: KubeletPod,
  volumes: ReadonlyMap<string, ContainerVolume>,
): Pick<ContainerSecurity, 'supplementalGroups' | 'supplementalGroupsPolicy'> {
  const {
    fsGroup,
    supplementalGroups = [],
    supplementalGroupsPolicy: policy = 'Merge',
  } = pod.spec?.securityContext ?? {}
  if (policy !== 'Merge' && policy !== 'Strict')
    throw new Error(`unsupported supplementalGroupsPolicy: ${policy}`)
  const ofVolumes = [...volumes.values()].flatMap(({ supplementalGroup: group }) => group ?? [])
  const groups: readonly Int64[] = [
    ...(fsGroup === undefined ? [] : [fsGroup]),
    ...supplementalGroups,
    ...ofVolumes,
  ]
  return { supplementalGroups: groups.map(Number), supplementalGroupsPolicy: policy }
}

/** An ephemeral container with a target shares the target's PID namespace. */
function withTarget(namespaces: NamespaceOptions, target: string | undefined): NamespaceOptions {
  return target !== undefined && namespaces.pid === 'container'
    ? { ...namespaces, pid: { target } }
    : namespaces
}

function selinuxOf(options: SELinuxOptions | undefined): SelinuxOptions | undefined {
  if (options === undefined) return undefined
  const { user = '', role = '', type = '', level = '' } = options
  return { user, role, type, level }
}

function seccompOf(profile: SeccompProfile | undefined, node: KubeletConfiguration): SecurityProfile {
  if (profile === undefined) return { type: node.seccompDefault ? 'RuntimeDefault' : 'Unconfined' }
  if (profile.type === 'RuntimeDefault') return { type: 'RuntimeDefault' }
  if (profile.type !== 'Localhost') return { type: 'Unconfined' }
  if (!profile.localhostProfile) {
    throw new Error('localhostProfile must be set if seccompProfile type is Localhost.')
  }
  return { type: 'Localhost', localhostRef: join(seccompFolder(node), profile.localhostProfile) }
}

const appArmorAnnotation = 'container.apparmor.security.beta.kubernetes.io/'
const localhostPrefix = 'localhost/'

/** Pods that bypass the API server (static pods) may still use the annotation. */
function appArmorOf(pod: KubeletPod, { name, securityContext }: Container): SecurityProfile | undefined {
  const profile: AppArmorProfile | undefined =
    securityContext?.appArmorProfile ??
    annotatedProfile(pod.metadata.annotations?.[appArmorAnnotation + name]) ??
    pod.spec?.securityContext?.appArmorProfile
  if (profile === undefined) return undefined
  const { type, localhostProfile } = profile
  if (type === 'RuntimeDefault' || type === 'Unconfined') return { type }
  if (type !== 'Localhost') throw new Error(`unknown apparmor profile type: ${quote(type)}`)
  if (localhostProfile === undefined) throw new Error('missing localhost apparmor profile name')
  return { type, localhostRef: localhostProfile }
}

function annotatedProfile(value: string | undefined): AppArmorProfile | undefined {
  if (value === 'runtime/default') return { type: 'RuntimeDefault' }
  if (value === 'unconfined') return { type: 'Unconfined' }
  if (!value?.startsWith(localhostPrefix)) return undefined
  return { type: 'Localhost', localhostProfile: value.slice(localhostPrefix.length) }
}

/** Paths in /proc and /sys that are masked or read-only. */
function procPaths(
  procMount: string | undefined,
  machine: MachineInfo,
): Pick<ContainerSecurity, 'maskedPaths' | 'readonlyPaths'> {
  if (procMount === 'Unmasked') return { maskedPaths: [], readonlyPaths: [] }
  return { maskedPaths: [...maskedPaths, ...machine.maskedPaths], readonlyPaths }
}

const maskedPaths = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
]

const readonlyPaths = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger']

interface UserNamespaceContext {
  readonly handler?: RuntimeHandler
  readonly users?: UserMappings
}

/** Linux namespaces that a pod shares with its node and its containers share with one another. */
function namespacesOf(pod: Pod, context: UserNamespaceContext): NamespaceOptions {
  const { hostNetwork, hostPID, hostIPC, shareProcessNamespace } = pod.spec ?? {}
  const users = usersOf(pod, context)
  return {
    network: hostNetwork ? 'node' : 'pod',
    pid: hostPID ? 'node' : shareProcessNamespace ? 'pod' : 'container',
    ipc: hostIPC ? 'node' : 'pod',
    ...(users && { users }),
  }
}

/** Undefined if the pod uses the node's user namespace. */
function usersOf(pod: Pod, { handler, users }: UserNamespaceContext): UserMappings | undefined {
  if (pod.spec?.hostUsers !== false) return undefined
  if (handler?.supportsUserNamespaces && users !== undefined) return users
  const who = handler?.name ? `RuntimeClass handler ${quote(handler.name)}` : 'runtime'
  throw new Error(`can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`)
}
