import type { ContainerConfig, ContainerSecurity, Mount } from '../cri.ts'
import type { ContainerConfig as ContainerConfigMessage } from './container-messages.ts'
import { groupsPolicies, propagations, signalNumber } from './enumerations.ts'
import { namespacesRequest, profileRequest, resourcesRequest, wrapped } from './sandbox-request.ts'

/** Converts a container configuration to CRI's message. */
export function containerRequest(
  config: ContainerConfig,
): Parameters<typeof ContainerConfigMessage.encode>[0] {
  return {
    metadata: { name: config.name, attempt: config.attempt },
    image: { image: config.image, userSpecifiedImage: config.userImage },
    command: config.command,
    args: config.args,
    workingDir: config.workingDir,
    envs: config.environment.map(({ name, value }) => ({ key: name, value: encoder.encode(value) })),
    mounts: config.mounts.map(mountRequest),
    devices: config.devices,
    labels: config.labels,
    annotations: config.annotations,
    logPath: config.logPath,
    stdin: config.stdin,
    stdinOnce: config.stdinOnce,
    tty: config.tty,
    stopSignal: signalNumber(config.stopSignal),
    linux: {
      resources: resourcesRequest(config.resources),
      securityContext: securityRequest(config.security),
    },
  }
}

const encoder = new TextEncoder()

function mountRequest(mount: Mount) {
  return {
    containerPath: mount.containerPath,
    hostPath: mount.hostPath,
    readonly: mount.readonly,
    recursiveReadOnly: mount.recursiveReadonly,
    selinuxRelabel: mount.selinuxRelabel,
    propagation: propagations.indexOf(mount.propagation),
    image: mount.image && { image: mount.image.id },
    imageSubPath: mount.image?.subPath,
  }
}

function securityRequest(security: ContainerSecurity) {
  return {
    capabilities: {
      addCapabilities: security.addCapabilities,
      dropCapabilities: security.dropCapabilities,
    },
    privileged: security.privileged,
    namespaceOptions: namespacesRequest(security.namespaces),
    selinuxOptions: security.selinux,
    runAsUser: wrapped(security.runAsUser),
    runAsUsername: security.runAsUsername,
    runAsGroup: wrapped(security.runAsGroup),
    readonlyRootfs: security.readonlyRootfs,
    supplementalGroups: security.supplementalGroups,
    supplementalGroupsPolicy: groupsPolicies.indexOf(security.supplementalGroupsPolicy),
    noNewPrivs: security.noNewPrivileges,
    maskedPaths: security.maskedPaths,
    readonlyPaths: security.readonlyPaths,
    seccomp: profileRequest(security.seccomp),
    apparmor: security.apparmor && profileRequest(security.apparmor),
  }
}
