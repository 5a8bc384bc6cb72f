import { message, type MessageOf } from '#/base/protobuf.ts'
import {
  Int64Value,
  labelMap,
  LinuxContainerResources,
  NamespaceOption,
  SecurityProfile,
  SelinuxOption,
} from './common-messages.ts'

/** CRI v1 messages for pod sandboxes. Names and field numbers are CRI's. */
const DnsConfig = message({
  servers: [1, 'string', 'repeated'],
  searches: [2, 'string', 'repeated'],
  options: [3, 'string', 'repeated'],
})

const PortMapping = message({
  protocol: [1, 'int32'],
  containerPort: [2, 'int32'],
  hostPort: [3, 'int32'],
  hostIp: [4, 'string'],
})

const LinuxSandboxSecurityContext = message({
  namespaceOptions: [1, NamespaceOption],
  selinuxOptions: [2, SelinuxOption],
  runAsUser: [3, Int64Value],
  readonlyRootfs: [4, 'bool'],
  supplementalGroups: [5, 'int64', 'repeated'],
  privileged: [6, 'bool'],
  runAsGroup: [8, Int64Value],
  seccomp: [9, SecurityProfile],
  supplementalGroupsPolicy: [11, 'int32'],
})

const LinuxPodSandboxConfig = message({
  cgroupParent: [1, 'string'],
  securityContext: [2, LinuxSandboxSecurityContext],
  sysctls: [3, labelMap],
  overhead: [4, LinuxContainerResources],
  resources: [5, LinuxContainerResources],
})

const PodSandboxMetadata = message({
  name: [1, 'string'],
  uid: [2, 'string'],
  namespace: [3, 'string'],
  attempt: [4, 'uint32'],
})

export const PodSandboxConfig = message({
  metadata: [1, PodSandboxMetadata],
  hostname: [2, 'string'],
  logDirectory: [3, 'string'],
  dnsConfig: [4, DnsConfig],
  portMappings: [5, PortMapping, 'repeated'],
  labels: [6, labelMap],
  annotations: [7, labelMap],
  linux: [8, LinuxPodSandboxConfig],
})

export const RunPodSandboxRequest = message({ config: [1, PodSandboxConfig], runtimeHandler: [2, 'string'] })

/** Request of stop, remove and status; response of run. */
export const PodSandboxId = message({ podSandboxId: [1, 'string'] })

const PodIp = message({ ip: [1, 'string'] })

const PodSandboxNetworkStatus = message({ ip: [1, 'string'], additionalIps: [2, PodIp, 'repeated'] })

const Namespace = message({ options: [2, NamespaceOption] })

const LinuxPodSandboxStatus = message({ namespaces: [1, Namespace] })

export const PodSandboxStatus = message({
  id: [1, 'string'],
  metadata: [2, PodSandboxMetadata],
  state: [3, 'int32'],
  createdAt: [4, 'int64'],
  network: [5, PodSandboxNetworkStatus],
  linux: [6, LinuxPodSandboxStatus],
  labels: [7, labelMap],
  annotations: [8, labelMap],
})
export type PodSandboxStatus = MessageOf<typeof PodSandboxStatus>

export const PodSandboxStatusResponse = message({ status: [1, PodSandboxStatus] })

const PodSandboxFilter = message({ id: [1, 'string'], labelSelector: [3, labelMap] })

export const ListPodSandboxRequest = message({ filter: [1, PodSandboxFilter] })

export const PodSandbox = message({
  id: [1, 'string'],
  metadata: [2, PodSandboxMetadata],
  state: [3, 'int32'],
  createdAt: [4, 'int64'],
  labels: [5, labelMap],
  annotations: [6, labelMap],
})
export type PodSandbox = MessageOf<typeof PodSandbox>

export const ListPodSandboxResponse = message({ items: [1, PodSandbox, 'repeated'] })
