/** Table columns of ResourcePoolStatusRequest. */
import { nameColumn, nameOf, translateTimestampSince } from '../../columns.ts'
import type { PoolStatus, ResourcePoolStatusRequest } from '../../generated/resource/v1alpha3.ts'
import type { KindColumns } from '../../table-columns.ts'
import { integerColumn, textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'

export const resourcePoolStatusRequestColumns: KindColumns<ResourcePoolStatusRequest> = {
  columns: [
    nameColumn,
    textColumn('Driver', 'Driver of the pools.'),
    textColumn('Total', 'Number of devices.'),
    textColumn('Available', 'Number of available devices.'),
    textColumn('Allocated', 'Number of allocated devices.'),
    textColumn('Unavailable', 'Number of unavailable devices.'),
    textColumn('Errors', 'Number of pools with validation errors.'),
    integerColumn('Pools', 'Number of pools.'),
    textColumn('Status', 'Status of the request.'),
    textColumn('Completed', 'Time since completion.'),
  ],
  cells: (request: Unchecked<ResourcePoolStatusRequest>) => {
    const decision = request.status?.conditions?.find(({ type, status }) => {
      return status === 'True' && (type === 'Complete' || type === 'Failed')
    })
    const isComplete = decision?.type === 'Complete'
    return [
      nameOf(request),
      request.spec?.driver ?? '',
      ...devicesOf(request, decision?.type === 'Failed'),
      request.status?.poolCount ?? 0,
      isComplete ? completeText(request) : (decision?.type ?? 'Pending'),
      isComplete ? translateTimestampSince(decision?.lastTransitionTime) : '<none>',
    ]
  },
}

type Pool = Unchecked<PoolStatus>

/** Total, available, allocated and unavailable devices, and errors; dashes if there is no result. */
function devicesOf({ status }: Unchecked<ResourcePoolStatusRequest>, isFailed: boolean): readonly string[] {
  if (status === undefined || isFailed) return ['-', '-', '-', '-', '-']
  const { pools = [] } = status
  return [
    sum(pools, pool => pool.totalDevices ?? 0),
    sum(pools, pool => pool.availableDevices ?? 0),
    sum(pools, pool => pool.allocatedDevices ?? 0),
    sum(pools, pool => pool.unavailableDevices ?? 0),
    sum(pools, pool => (pool.validationError === undefined ? 0 : 1)),
  ]
}

function sum(pools: readonly Pool[], count: (pool: Pool) => number): string {
  let total = 0
  for (const pool of pools) total += count(pool)
  return String(total)
}

/** The result may be truncated. */
function completeText({ status }: Unchecked<ResourcePoolStatusRequest>): string {
  const { poolCount = 0, pools = [] } = status ?? {}
  return poolCount > pools.length ? `Complete (${pools.length}/${poolCount} pools)` : 'Complete'
}
