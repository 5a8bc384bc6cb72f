import type {
  LinuxResources,
  NamespaceMode,
  NamespaceOptions,
  SandboxConfig,
  SandboxSecurity,
  SecurityProfile,
} from '../cri.ts'
import type {
  LinuxContainerResources,
  NamespaceOption,
  SecurityProfile as SecurityProfileMessage,
} from './common-messages.ts'
import { groupsPolicies, namespaceModes, profileTypes, protocols } from './enumerations.ts'
import type { PodSandboxConfig } from './sandbox-messages.ts'

/** Converts a sandbox configuration to CRI's message. */
export function sandboxRequest(config: SandboxConfig): Parameters<typeof PodSandboxConfig.encode>[0] {
  return {
    metadata: config.metadata,
    hostname: config.hostname,
    logDirectory: config.logFolder,
    dnsConfig: config.dns,
    portMappings: config.portMappings.map(mapping => ({
      ...mapping,
      protocol: protocols.indexOf(mapping.protocol),
    })),
    labels: config.labels,
    annotations: config.annotations,
    linux: {
      cgroupParent: config.cgroupParent,
      sysctls: config.sysctls,
      overhead: config.overhead && resourcesRequest(config.overhead),
      resources: config.resources && resourcesRequest(config.resources),
      securityContext: securityRequest(config.security),
    },
  }
}

function securityRequest(security: SandboxSecurity) {
  return {
    namespaceOptions: namespacesRequest(security.namespaces),
    selinuxOptions: security.selinux,
    runAsUser: wrapped(security.runAsUser),
    runAsGroup: wrapped(security.runAsGroup),
    readonlyRootfs: security.readonlyRootfs,
    supplementalGroups: security.supplementalGroups,
    supplementalGroupsPolicy: groupsPolicies.indexOf(security.supplementalGroupsPolicy),
    privileged: security.privileged,
    seccomp: profileRequest(security.seccomp),
  }
}

/** Wraps the number in a message, which distinguishes user 0 from no user. */
export function wrapped(value: number | undefined): { readonly value: number } | undefined {
  return value === undefined ? undefined : { value }
}

export function profileRequest({
  type,
  localhostRef,
}: SecurityProfile): Parameters<typeof SecurityProfileMessage.encode>[0] {
  return { profileType: profileTypes.indexOf(type), localhostRef }
}

export function namespacesRequest(
  namespaces: NamespaceOptions,
): Parameters<typeof NamespaceOption.encode>[0] {
  const { network, pid, ipc, users } = namespaces
  const target = [network, pid, ipc].find(mode => typeof mode === 'object')
  return {
    network: modeNumber(network),
    pid: modeNumber(pid),
    ipc: modeNumber(ipc),
    targetId: target?.target,
    usernsOptions: users && { mode: modeNumber('pod'), uids: users.uids, gids: users.gids },
  }
}

function modeNumber(mode: NamespaceMode): number {
  return namespaceModes.indexOf(typeof mode === 'object' ? 'target' : mode)
}

export function resourcesRequest(
  resources: LinuxResources,
): Parameters<typeof LinuxContainerResources.encode>[0] {
  return {
    cpuPeriod: resources.cpuPeriod,
    cpuQuota: resources.cpuQuota,
    cpuShares: resources.cpuShares,
    memoryLimitInBytes: resources.memoryLimitBytes,
    memorySwapLimitInBytes: resources.memorySwapLimitBytes,
    oomScoreAdj: resources.oomScoreAdj,
    cpusetCpus: resources.cpusetCpus,
    cpusetMems: resources.cpusetMems,
    hugepageLimits: resources.hugepageLimits?.map(({ pageSize, limitBytes }) => ({
      pageSize,
      limit: limitBytes,
    })),
    unified: resources.unified,
  }
}
