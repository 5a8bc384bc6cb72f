/** Plain sandbox and container configurations for runtime tests. */
import type { ContainerConfig, SandboxConfig, SandboxMetadata } from './cri.ts'

export function sandboxConfig(uid: string, more: Partial<SandboxConfig> = {}): SandboxConfig {
  return {
    metadata: { name: `pod-${uid}`, namespace: 'default', uid, attempt: 0 },
    hostname: `pod-${uid}`,
    logFolder: `/var/log/pods/default_pod-${uid}_${uid}`,
    portMappings: [],
    labels: podLabels({ name: `pod-${uid}`, namespace: 'default', uid, ...more.metadata }),
    annotations: {},
    cgroupParent: '',
    sysctls: {},
    security: {
      namespaces: { network: 'pod', pid: 'container', ipc: 'pod' },
      readonlyRootfs: false,
      supplementalGroups: [],
      supplementalGroupsPolicy: 'Merge',
      privileged: false,
      seccomp: { type: 'RuntimeDefault' },
    },
    runtimeHandler: '',
    ...more,
  }
}

/** Labels that identify a pod's containers. */
function podLabels({
  name,
  namespace,
  uid,
}: Omit<SandboxMetadata, 'attempt'>): Readonly<Record<string, string>> {
  return {
    'io.kubernetes.pod.uid': uid,
    'io.kubernetes.pod.name': name,
    'io.kubernetes.pod.namespace': namespace,
  }
}

export function containerConfig(name: string, more: Partial<ContainerConfig> = {}): ContainerConfig {
  const { attempt = 0 } = more
  return {
    name,
    attempt,
    image: 'docker.io/library/it:latest',
    userImage: 'it',
    command: [],
    args: [],
    workingDir: '',
    environment: [],
    mounts: [],
    devices: [],
    labels: {},
    annotations: {},
    logPath: `${name}/${attempt}.log`,
    stdin: false,
    stdinOnce: false,
    tty: false,
    resources: {},
    security: {
      namespaces: { network: 'pod', pid: 'container', ipc: 'pod' },
      privileged: false,
      addCapabilities: [],
      dropCapabilities: [],
      readonlyRootfs: false,
      supplementalGroups: [],
      supplementalGroupsPolicy: 'Merge',
      noNewPrivileges: false,
      maskedPaths: [],
      readonlyPaths: [],
      seccomp: { type: 'RuntimeDefault' },
    },
    ...more,
  }
}
