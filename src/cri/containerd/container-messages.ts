import { message, type MessageOf } from '#/base/protobuf.ts'
import {
  ImageSpec,
  Int64Value,
  labelMap,
  LinuxContainerResources,
  NamespaceOption,
  SecurityProfile,
  SelinuxOption,
} from './common-messages.ts'
import { PodSandboxConfig } from './sandbox-messages.ts'

/** CRI v1 messages for containers. Names and field numbers are CRI's. */
export const ContainerMetadata = message({ name: [1, 'string'], attempt: [2, 'uint32'] })

const KeyValue = message({ key: [1, 'string'], value: [2, 'bytes'] })

export const Mount = message({
  containerPath: [1, 'string'],
  hostPath: [2, 'string'],
  readonly: [3, 'bool'],
  selinuxRelabel: [4, 'bool'],
  propagation: [5, 'int32'],
  recursiveReadOnly: [8, 'bool'],
  image: [9, ImageSpec],
  imageSubPath: [10, 'string'],
})
export type Mount = MessageOf<typeof Mount>

const Device = message({ containerPath: [1, 'string'], hostPath: [2, 'string'], permissions: [3, 'string'] })

const Capability = message({
  addCapabilities: [1, 'string', 'repeated'],
  dropCapabilities: [2, 'string', 'repeated'],
})

const LinuxContainerSecurityContext = message({
  capabilities: [1, Capability],
  privileged: [2, 'bool'],
  namespaceOptions: [3, NamespaceOption],
  selinuxOptions: [4, SelinuxOption],
  runAsUser: [5, Int64Value],
  runAsUsername: [6, 'string'],
  readonlyRootfs: [7, 'bool'],
  supplementalGroups: [8, 'int64', 'repeated'],
  noNewPrivs: [11, 'bool'],
  runAsGroup: [12, Int64Value],
  maskedPaths: [13, 'string', 'repeated'],
  readonlyPaths: [14, 'string', 'repeated'],
  seccomp: [15, SecurityProfile],
  apparmor: [16, SecurityProfile],
  supplementalGroupsPolicy: [17, 'int32'],
})

const LinuxContainerConfig = message({
  resources: [1, LinuxContainerResources],
  securityContext: [2, LinuxContainerSecurityContext],
})

export const ContainerConfig = message({
  metadata: [1, ContainerMetadata],
  image: [2, ImageSpec],
  command: [3, 'string', 'repeated'],
  args: [4, 'string', 'repeated'],
  workingDir: [5, 'string'],
  envs: [6, KeyValue, 'repeated'],
  mounts: [7, Mount, 'repeated'],
  devices: [8, Device, 'repeated'],
  labels: [9, labelMap],
  annotations: [10, labelMap],
  logPath: [11, 'string'],
  stdin: [12, 'bool'],
  stdinOnce: [13, 'bool'],
  tty: [14, 'bool'],
  linux: [15, LinuxContainerConfig],
  stopSignal: [18, 'int32'],
})

export const CreateContainerRequest = message({
  podSandboxId: [1, 'string'],
  config: [2, ContainerConfig],
  sandboxConfig: [3, PodSandboxConfig],
})

/** Request of start, remove, status and reopen-log; response of create. */
export const ContainerId = message({ containerId: [1, 'string'] })

export const StopContainerRequest = message({ containerId: [1, 'string'], timeout: [2, 'int64'] })

const ContainerFilter = message({ id: [1, 'string'], labelSelector: [4, labelMap] })

export const ListContainersRequest = message({ filter: [1, ContainerFilter] })

export const Container = message({
  id: [1, 'string'],
  podSandboxId: [2, 'string'],
  metadata: [3, ContainerMetadata],
  image: [4, ImageSpec],
  imageRef: [5, 'string'],
  state: [6, 'int32'],
  createdAt: [7, 'int64'],
  labels: [8, labelMap],
  annotations: [9, labelMap],
})
export type Container = MessageOf<typeof Container>

export const ListContainersResponse = message({ containers: [1, Container, 'repeated'] })

const ContainerResources = message({ linux: [1, LinuxContainerResources] })

const LinuxContainerUser = message({
  uid: [1, 'int64'],
  gid: [2, 'int64'],
  supplementalGroups: [3, 'int64', 'repeated'],
})

const ContainerUser = message({ linux: [1, LinuxContainerUser] })

export const ContainerStatus = message({
  id: [1, 'string'],
  metadata: [2, ContainerMetadata],
  state: [3, 'int32'],
  createdAt: [4, 'int64'],
  startedAt: [5, 'int64'],
  finishedAt: [6, 'int64'],
  exitCode: [7, 'int32'],
  image: [8, ImageSpec],
  imageRef: [9, 'string'],
  reason: [10, 'string'],
  message: [11, 'string'],
  labels: [12, labelMap],
  annotations: [13, labelMap],
  mounts: [14, Mount, 'repeated'],
  logPath: [15, 'string'],
  resources: [16, ContainerResources],
  user: [18, ContainerUser],
})
export type ContainerStatus = MessageOf<typeof ContainerStatus>

export const ContainerStatusResponse = message({ status: [1, ContainerStatus] })

export const UpdateContainerResourcesRequest = message({
  containerId: [1, 'string'],
  linux: [2, LinuxContainerResources],
})
