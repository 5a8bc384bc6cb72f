import { test } from 'node:test'
import { ago, columnsUnderTest } from '../testdata/check-columns.ts'

const group = 'resource.k8s.io'

test('the ResourceClaim table shows the allocation state', () => {
  const { row, check } = columnsUnderTest(group, 'ResourceClaim')
  row({}, 'a', 'pending', '5m')
  check({ status: { allocation: {} } }, { State: 'allocated' })
  check({ status: { allocation: {}, reservedFor: [{}] } }, { State: 'allocated,reserved' })
  check({ status: { reservedFor: [{}] } }, { State: 'pending' })
  const metadata = { deletionTimestamp: ago(1) }
  check({ metadata }, { State: 'deleted' })
  check({ metadata, status: { allocation: {}, reservedFor: [{}] } }, { State: 'deleted,allocated,reserved' })
})

test('tables of ResourceSlice and DeviceTaintRule', () => {
  columnsUnderTest(group, 'DeviceClass').row({}, 'a', '5m')
  columnsUnderTest(group, 'ResourceClaimTemplate').row({}, 'a', '5m')
  const slices = columnsUnderTest(group, 'ResourceSlice')
  slices.row({}, 'a', '', '', '', '5m')
  slices.row({ spec: { nodeName: 'n', driver: 'd', pool: { name: 'p' } } }, 'a', 'n', 'd', 'p', '5m')
  const rules = columnsUnderTest(group, 'DeviceTaintRule')
  rules.row(
    { spec: { taint: { key: 'k', value: 'v', effect: 'NoSchedule' } } },
    'a',
    'k',
    'v',
    'NoSchedule',
    '',
    '5m',
  )
  rules.check({ spec: { taint: { timeAdded: ago(60) } } }, { TimeAdded: '60s' })
})

test('the ResourcePoolStatusRequest table sums up the pools', () => {
  const { row, check } = columnsUnderTest(group, 'ResourcePoolStatusRequest')
  row({ spec: { driver: 'd' } }, 'a', 'd', '-', '-', '-', '-', '-', 0, 'Pending', '<none>')
  row({ status: {} }, 'a', '', '0', '0', '0', '0', '0', 0, 'Pending', '<none>')
  const pools = [
    { totalDevices: 4, availableDevices: 1, allocatedDevices: 2, unavailableDevices: 1 },
    { totalDevices: 2, validationError: 'x' },
  ]
  const complete = { type: 'Complete', status: 'True', lastTransitionTime: ago(60) }
  row(
    { status: { poolCount: 2, pools, conditions: [complete] } },
    'a',
    '',
    '6',
    '1',
    '2',
    '1',
    '1',
    2,
    'Complete',
    '60s',
  )
  check({ status: { poolCount: 5, pools, conditions: [complete] } }, { Status: 'Complete (2/5 pools)' })
  check(
    { status: { poolCount: 5, pools, conditions: [{ type: 'Failed', status: 'True' }] } },
    { Total: '-', Errors: '-', Pools: 5, Status: 'Failed', Completed: '<none>' },
  )
  check({ status: { conditions: [{ type: 'Complete', status: 'False' }] } }, { Status: 'Pending' })
})
