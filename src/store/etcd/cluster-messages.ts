/** The part of etcd's Cluster and Maintenance services that is used here, with etcd's names and field numbers. */
import { message, type MessageOf } from '#/base/protobuf.ts'

const ResponseHeader = message({ clusterId: [1, 'uint64'], memberId: [2, 'uint64'] })

const Member = message({
  id: [1, 'uint64'],
  /** Empty until the member has started. */
  name: [2, 'string'],
  peerUrls: [3, 'string', 'repeated'],
  /** Empty until the member has started. */
  clientUrls: [4, 'string', 'repeated'],
  isLearner: [5, 'bool'],
})
export type Member = MessageOf<typeof Member>

export const MemberAddRequest = message({ peerUrls: [1, 'string', 'repeated'], isLearner: [2, 'bool'] })

export const MemberAddResponse = message({
  header: [1, ResponseHeader],
  member: [2, Member],
  members: [3, Member, 'repeated'],
})

/** `linearizable` is known to etcd 3.5 and newer. */
export const MemberListRequest = message({ linearizable: [1, 'bool'] })

/** Also the response of MemberRemove and MemberPromote. */
export const MemberListResponse = message({ header: [1, ResponseHeader], members: [2, Member, 'repeated'] })

/** The request of MemberRemove and of MemberPromote. */
export const MemberIdRequest = message({ id: [1, 'uint64'] })

export const MoveLeaderRequest = message({ targetId: [1, 'uint64'] })

export const StatusRequest = message({})

export const StatusResponse = message({
  header: [1, ResponseHeader],
  version: [2, 'string'],
  dbSizeBytes: [3, 'int53'],
  /** 0 without a leader. */
  leader: [4, 'uint64'],
  raftIndex: [5, 'int53'],
  raftTerm: [6, 'int53'],
  raftAppliedIndex: [7, 'int53'],
  errors: [8, 'string', 'repeated'],
  isLearner: [10, 'bool'],
})

export const HashKvRequest = message({ revision: [1, 'int53'] })

export const HashKvResponse = message({
  header: [1, ResponseHeader],
  hash: [2, 'uint32'],
  compactRevision: [3, 'int53'],
})
