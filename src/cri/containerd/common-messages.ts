import { map, message } from '#/base/protobuf.ts'

/** Messages shared by several CRI v1 services. Names and field numbers are CRI's. */
export const labelMap = map('string', 'string')

export const Empty = message({})

export const Int64Value = message({ value: [1, 'int64'] })

export const UInt64Value = message({ value: [1, 'uint64'] })

const IdMapping = message({ hostId: [1, 'uint32'], containerId: [2, 'uint32'], length: [3, 'uint32'] })

const UserNamespace = message({
  mode: [1, 'int32'],
  uids: [2, IdMapping, 'repeated'],
  gids: [3, IdMapping, 'repeated'],
})

export const NamespaceOption = message({
  network: [1, 'int32'],
  pid: [2, 'int32'],
  ipc: [3, 'int32'],
  targetId: [4, 'string'],
  usernsOptions: [5, UserNamespace],
})

export const SecurityProfile = message({ profileType: [1, 'int32'], localhostRef: [2, 'string'] })

export const SelinuxOption = message({
  user: [1, 'string'],
  role: [2, 'string'],
  type: [3, 'string'],
  level: [4, 'string'],
})

const HugepageLimit = message({ pageSize: [1, 'string'], limit: [2, 'uint64'] })

export const LinuxContainerResources = message({
  cpuPeriod: [1, 'int64'],
  cpuQuota: [2, 'int64'],
  cpuShares: [3, 'int64'],
  memoryLimitInBytes: [4, 'int64'],
  oomScoreAdj: [5, 'int64'],
  cpusetCpus: [6, 'string'],
  cpusetMems: [7, 'string'],
  hugepageLimits: [8, HugepageLimit, 'repeated'],
  unified: [9, map('string', 'string')],
  memorySwapLimitInBytes: [10, 'int64'],
})

export const ImageSpec = message({
  image: [1, 'string'],
  annotations: [2, labelMap],
  userSpecifiedImage: [18, 'string'],
})

/** Label that maps containers and sandboxes to their pod. */
export const podUidLabel = 'io.kubernetes.pod.uid'
