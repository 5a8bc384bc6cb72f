/**
 * `/debug/api_priority_and_fairness/`: tables of the priority levels, their queues and the requests in them, with
 * upstream's columns.
 */
import { apiVersionOf } from '#/api/resource.ts'
import type { Clock } from '#/platform/platform.ts'
import type { FlowControl } from '../flow-control.ts'
import type { FlowRequest } from '../flow-control/flow-request.ts'
import type { PriorityLevel } from '../flow-control/priority-level.ts'
import type { ApiRequest, ApiResponse } from '../request.ts'
import { textResponse } from './text-response.ts'

/** Undefined for other paths, and without priority and fairness. */
export function flowControlDump(
  { path, query }: ApiRequest,
  flowControl: FlowControl | undefined,
  clock: Clock,
): ApiResponse | undefined {
  const [, name] = /^\/debug\/api_priority_and_fairness\/(\w+)$/.exec(path) ?? []
  if (name === undefined || flowControl === undefined) return undefined
  const levels = flowControl.priorityLevels.toSorted((left, right) => (left.name < right.name ? -1 : 1))
  switch (name) {
    case 'dump_priority_levels':
      return textResponse(alignColumns([levelColumns, ...levels.map(levelRow)]))
    case 'dump_queues':
      return textResponse(alignColumns([queueColumns, ...levels.flatMap(queueRows)]))
    case 'dump_requests': {
      const hasDetails = (query.get('includeRequestDetails') ?? '') !== ''
      const columns = hasDetails ? [...requestColumns, ...detailColumns] : requestColumns
      const rows = levels.flatMap(level => requestRows(level, { clock, hasDetails }))
      return textResponse(alignColumns([columns, ...rows]))
    }
    default:
      return undefined
  }
}

const levelColumns = [
  'PriorityLevelName',
  'ActiveQueues',
  'IsIdle',
  'IsQuiescing',
  'WaitingRequests',
  'ExecutingRequests',
  'DispatchedRequests',
  'RejectedRequests',
  'TimedoutRequests',
  'CancelledRequests',
]

function levelRow(level: PriorityLevel): readonly string[] {
  const queues = [...(level.queues?.queues ?? [])]
  const waiting = queues.reduce((sum, { length }) => sum + length, 0)
  const executing = level.executing.size
  const { dispatched, rejected, timedOut, canceled } = level.counts
  const active = queues.filter(({ length }) => length > 0).length
  // Levels that were deleted are gone at once, so none is quiescing.
  return [level.name, active, waiting + executing === 0, false, waiting, executing]
    .concat([dispatched, rejected, timedOut, canceled])
    .map(String)
}

const queueColumns = [
  'PriorityLevelName',
  'Index',
  'PendingRequests',
  'ExecutingRequests',
  'SeatsInUse',
  'NextDispatchR',
  'InitialSeatsSum',
  'MaxSeatsSum',
  'TotalWorkSum',
]

function queueRows({ name, queues }: PriorityLevel): readonly (readonly string[])[] {
  if (queues === undefined) return []
  const used = new Map(Array.from(queues.queues, queue => [queue.index, queue]))
  return Array.from({ length: queues.limits.queues }, (_, index) => {
    const queue = used.get(index)
    const seats = queue?.waitingSeats ?? 0
    const work = seats * (queue?.estimatedMs ?? 0)
    const [pending, executing, running] = [queue?.length ?? 0, queue?.executing ?? 0, queue?.running ?? 0]
    const next = seatSeconds(queue?.virtualStart ?? 0)
    return [name, index, pending, executing, running, next, seats, seats, seatSeconds(work)].map(String)
  })
}

function seatSeconds(seatMs: number): string {
  return `${(seatMs / 1_000).toFixed(8)}ss`
}

const requestColumns = [
  'PriorityLevelName',
  'FlowSchemaName',
  'QueueIndex',
  'RequestIndexInQueue',
  'FlowDistingsher',
  'ArriveTime',
  'InitialSeats',
  'FinalSeats',
  'AdditionalLatency',
  'StartTime',
]

const detailColumns = [
  'UserName',
  'Verb',
  'APIPath',
  'Namespace',
  'Name',
  'APIVersion',
  'Resource',
  'SubResource',
]

interface Shown {
  readonly clock: Clock
  readonly hasDetails: boolean
}

function requestRows(level: PriorityLevel, shown: Shown): readonly (readonly string[])[] {
  const waiting = Array.from(level.queues?.queues ?? []).flatMap(queue =>
    queue.requests.map(({ flowRequest }, index) =>
      requestRow({ level, flowRequest, queue: queue.index, index, startedMs: undefined }, shown),
    ),
  )
  const executing = Array.from(level.executing, ({ flowRequest, charge, startedMs }) =>
    requestRow({ level, flowRequest, queue: charge?.queue.index ?? -1, index: -1, startedMs }, shown),
  )
  return [...waiting, ...executing]
}

interface ShownRequest {
  readonly level: PriorityLevel
  readonly flowRequest: FlowRequest
  readonly queue: number
  readonly index: number
  /** Undefined while the request is queued. */
  readonly startedMs: number | undefined
}

function requestRow(
  { level, flowRequest, queue, index, startedMs }: ShownRequest,
  { clock, hasDetails }: Shown,
): readonly string[] {
  const timeOf = (monotonicMs: number): string =>
    formatTime(clock.now() - (clock.monotonicMs() - monotonicMs))
  const { schemaName, distinguisher, arrivedMs, seats } = flowRequest
  const place = [level.name, schemaName, String(queue), String(index), distinguisher]
  const started = startedMs === undefined ? zeroTime : timeOf(startedMs)
  const row = [...place, timeOf(arrivedMs), String(seats), '0', '0s', started]
  return hasDetails ? [...row, ...detailsOf(flowRequest)] : row
}

const zeroTime = '0001-01-01T00:00:00Z'

function detailsOf({ context: { user, info } }: FlowRequest): readonly string[] {
  const request = [user.username, info.verb, info.path]
  if (!info.isResource) return [...request, '', '', '', '', '']
  const { namespace, name, resource, subresource } = info
  return [...request, namespace, name, apiVersionOf(info), resource, subresource]
}

function formatTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.?0*Z$/, 'Z')
}

/** Cells are separated by commas and aligned; the last column is not padded. */
function alignColumns(rows: readonly (readonly string[])[]): string {
  const count = rows[0]!.length
  const widths = Array.from({ length: count - 1 }, (_, column) =>
    Math.max(widthMin, ...rows.map(row => row[column]!.length + 2)),
  )
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column === count - 1 ? cell : `${cell},`.padEnd(widths[column]!))).join('')
  return rows.map(row => `${line(row)}\n`).join('')
}

const widthMin = 8
