import type { Container, Pod, PodSpec, SecurityContext } from '#/api/generated/core/v1.ts'
import type { AnyContainer } from '../pods/containers.ts'

/** An ephemeral container in a pod, a container in a copy of a pod, or a pod on a node. */
export type DebugStyle = 'ephemeral' | 'copy' | 'node'

export const profileNames = ['legacy', 'general', 'baseline', 'restricted', 'netadmin', 'sysadmin'] as const

export type ProfileName = (typeof profileNames)[number]

/** What the copy of a pod keeps. */
export interface KeptFields {
  readonly labels: boolean
  readonly annotations: boolean
  readonly liveness: boolean
  readonly readiness: boolean
  readonly startup: boolean
  readonly initContainers: boolean
}

export interface ApplyProfileOptions {
  readonly profile: ProfileName
  readonly style: DebugStyle
  /** The container to debug with. */
  readonly container: string
  readonly kept: KeptFields
}

interface Profile {
  readonly securityContext: (
    given: SecurityContext | undefined,
    style: DebugStyle,
  ) => SecurityContext | undefined
  /** The pod on a node mounts the files of the node. */
  readonly mountsHost: boolean
  /** The pod on a node uses the namespaces of the node. */
  readonly usesHostNamespaces: boolean
  /** Processes of a copy see each other, and it loses what would disturb debugging. */
  readonly changesCopy: boolean
}

const usual: Profile = {
  securityContext: given => given,
  mountsHost: false,
  usesHostNamespaces: false,
  changesCopy: true,
}

const profiles: Readonly<Record<ProfileName, Profile>> = {
  legacy: { ...usual, mountsHost: true, usesHostNamespaces: true, changesCopy: false },
  general: {
    ...usual,
    mountsHost: true,
    usesHostNamespaces: true,
    securityContext: (given, style) =>
      style === 'node' ? undefined : withCapabilities(given, ['SYS_PTRACE']),
  },
  baseline: { ...usual, securityContext: () => undefined },
  restricted: {
    ...usual,
    securityContext: () => ({
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
      allowPrivilegeEscalation: false,
      seccompProfile: { type: 'RuntimeDefault' },
    }),
  },
  netadmin: {
    ...usual,
    usesHostNamespaces: true,
    securityContext: given => withCapabilities(given, ['NET_ADMIN', 'NET_RAW']),
  },
  sysadmin: {
    ...usual,
    mountsHost: true,
    usesHostNamespaces: true,
    securityContext: given => ({ ...given, privileged: true }),
  },
}

/** The pod with what a profile grants to the container, or takes from it. */
export function applyProfile(pod: Pod, { profile, style, container, kept }: ApplyProfileOptions): Pod {
  const { securityContext, mountsHost, usesHostNamespaces, changesCopy } = profiles[profile]
  let changed = changeContainer(pod, container, given =>
    withSecurityContext(given, securityContext(given.securityContext, style)),
  )
  if (style === 'node' && mountsHost) changed = mountHost(changed, container)
  if (style === 'node' && usesHostNamespaces) {
    changed = withSpec(changed, { hostNetwork: true, hostPID: true, hostIPC: true })
  }
  if (style !== 'copy') return changed
  if (!changesCopy)
    return withoutFields(changed, {
      ...kept,
      annotations: true,
      liveness: true,
      readiness: true,
      startup: true,
      initContainers: true,
      labels: false,
    })
  const copy = withoutFields(changed, kept)
  return withSpec(copy, { shareProcessNamespace: copy.spec?.shareProcessNamespace ?? true })
}

export function withSpec(pod: Pod, fields: Partial<PodSpec>): Pod {
  return { ...pod, spec: { ...pod.spec!, ...fields } }
}

/** Changes the first container with this name. */
export function changeContainer(pod: Pod, name: string, change: (given: AnyContainer) => AnyContainer): Pod {
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    const containers: readonly AnyContainer[] = pod.spec?.[list] ?? []
    const index = containers.findIndex(each => each.name === name)
    if (index !== -1) return withSpec(pod, { [list]: containers.with(index, change(containers[index]!)) })
  }
  return pod
}

function withSecurityContext(
  container: AnyContainer,
  securityContext: SecurityContext | undefined,
): AnyContainer {
  const { securityContext: _given, ...rest } = container
  return securityContext === undefined ? rest : { ...rest, securityContext }
}

function withCapabilities(given: SecurityContext | undefined, added: readonly string[]): SecurityContext {
  const { capabilities } = given ?? {}
  return { ...given, capabilities: { ...capabilities, add: [...(capabilities?.add ?? []), ...added] } }
}

const hostVolume = 'host-root'

function mountHost(pod: Pod, name: string): Pod {
  const volumes = [...(pod.spec?.volumes ?? []), { name: hostVolume, hostPath: { path: '/' } }]
  return changeContainer(withSpec(pod, { volumes }), name, ({ volumeMounts = [], ...container }) => ({
    ...container,
    volumeMounts: [...volumeMounts, { mountPath: '/host', name: hostVolume }],
  }))
}

function withoutFields(pod: Pod, kept: KeptFields): Pod {
  const { labels, annotations, ...metadata } = pod.metadata
  const { initContainers, ...spec } = pod.spec!
  return {
    ...pod,
    metadata: {
      ...metadata,
      ...(kept.labels && labels && { labels }),
      ...(kept.annotations && annotations && { annotations }),
    },
    spec: {
      ...spec,
      ...(kept.initContainers && initContainers && { initContainers }),
      containers: spec.containers.map(each => withoutProbes(each, kept)),
    },
  }
}

function withoutProbes(container: Container, kept: KeptFields): Container {
  const { livenessProbe, readinessProbe, startupProbe, ...rest } = container
  return {
    ...rest,
    ...(kept.liveness && livenessProbe && { livenessProbe }),
    ...(kept.readiness && readinessProbe && { readinessProbe }),
    ...(kept.startup && startupProbe && { startupProbe }),
  }
}
