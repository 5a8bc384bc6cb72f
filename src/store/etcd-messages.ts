/** The part of etcd's v3 API that is used here, with etcd's names and field numbers. */
import { message, type MessageOf } from '#/base/protobuf.ts'

const ResponseHeader = message({ revision: [3, 'int53'] })

const KeyValue = message({
  key: [1, 'bytes'],
  createRevision: [2, 'int53'],
  modRevision: [3, 'int53'],
  value: [5, 'bytes'],
  /** 0 for a key without one. */
  lease: [6, 'int64'],
})
export type KeyValue = MessageOf<typeof KeyValue>

export const RangeRequest = message({
  key: [1, 'bytes'],
  rangeEnd: [2, 'bytes'],
  limit: [3, 'int53'],
  revision: [4, 'int53'],
  countOnly: [9, 'bool'],
})

export const RangeResponse = message({
  header: [1, ResponseHeader],
  kvs: [2, KeyValue, 'repeated'],
  more: [3, 'bool'],
  count: [4, 'int53'],
})

const PutRequest = message({ key: [1, 'bytes'], value: [2, 'bytes'], lease: [3, 'int64'] })

const DeleteRangeRequest = message({ key: [1, 'bytes'] })

const RequestOp = message(
  {
    requestRange: [1, RangeRequest],
    requestPut: [2, PutRequest],
    requestDeleteRange: [3, DeleteRangeRequest],
  },
  { oneOf: [['requestRange', 'requestPut', 'requestDeleteRange']] },
)

const ResponseOp = message({ responseRange: [1, RangeResponse] })

/** Compares the mod revision, which is 0 for a key that does not exist. */
export const compareModRevision = 2

const Compare = message({ target: [2, 'int32'], key: [3, 'bytes'], modRevision: [6, 'int53', 'optional'] })

export const TxnRequest = message({
  compare: [1, Compare, 'repeated'],
  success: [2, RequestOp, 'repeated'],
  failure: [3, RequestOp, 'repeated'],
})

export const TxnResponse = message({
  header: [1, ResponseHeader],
  succeeded: [2, 'bool'],
  responses: [3, ResponseOp, 'repeated'],
})

export const CompactionRequest = message({ revision: [1, 'int53'] })

export const CompactionResponse = message({ header: [1, ResponseHeader] })

export const LeaseGrantRequest = message({ ttl: [1, 'int53'] })

export const LeaseGrantResponse = message({ header: [1, ResponseHeader], id: [2, 'int64'] })

/** The default action is to list the alarms of all members. */
export const AlarmRequest = message({ action: [1, 'int32'] })

export const alarmNoSpace = 1
export const alarmCorrupt = 2

const AlarmMember = message({ alarm: [2, 'int32'] })

export const AlarmResponse = message({ header: [1, ResponseHeader], alarms: [2, AlarmMember, 'repeated'] })

export const LeaseTimeToLiveRequest = message({ id: [1, 'int64'] })

export const LeaseTimeToLiveResponse = message({ header: [1, ResponseHeader], ttl: [3, 'int53'] })

const WatchCreateRequest = message({
  key: [1, 'bytes'],
  rangeEnd: [2, 'bytes'],
  startRevision: [3, 'int53'],
  fragment: [8, 'bool'],
})

export const WatchRequest = message({ createRequest: [1, WatchCreateRequest] })

/** The event type DELETE. */
export const deleteEvent = 1

const Event = message({ type: [1, 'int32'], kv: [2, KeyValue] })
export type Event = MessageOf<typeof Event>

export const WatchResponse = message({
  header: [1, ResponseHeader],
  created: [3, 'bool'],
  canceled: [4, 'bool'],
  compactRevision: [5, 'int53'],
  cancelReason: [6, 'string'],
  fragment: [7, 'bool'],
  events: [11, Event, 'repeated'],
})
export type WatchResponse = MessageOf<typeof WatchResponse>
