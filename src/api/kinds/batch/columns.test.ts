import { test } from 'node:test'
import { ago, columnsUnderTest } from '../testdata/check-columns.ts'

const template = { spec: { containers: [{ name: 'x', image: 'x:1' }] } }
const metadata = { deletionTimestamp: ago(1) }

test('the Job table shows completions and duration', () => {
  const { row, check } = columnsUnderTest('batch', 'Job')
  row({}, 'a', 'Running', '0/1', '', '5m', '', '', '<none>')
  row(
    {
      spec: { completions: 3, template, selector: { matchLabels: { b: '1' } } },
      status: { succeeded: 1, startTime: ago(200) },
    },
    'a',
    'Running',
    '1/3',
    '3m20s',
    '5m',
    'x',
    'x:1',
    'b=1',
  )
  check({ spec: { completions: 0 } }, { Completions: '0/0' })
  check({ spec: { parallelism: 1 }, status: { succeeded: 1 } }, { Completions: '1/1' })
  check({ spec: { parallelism: 4 }, status: { succeeded: 2 } }, { Completions: '2/1 of 4' })
  check({ status: { startTime: ago(7200), completionTime: ago(3600) } }, { Duration: '60m' })
  check({ status: { completionTime: ago(3600) } }, { Duration: '' })
})

test('the Job table prefers terminal conditions over transient ones', () => {
  const { check } = columnsUnderTest('batch', 'Job')
  const status = (...types: readonly string[]): object => {
    return { conditions: types.map(type => ({ type, status: 'True' })) }
  }
  check({ status: status('Complete', 'SuccessCriteriaMet'), metadata }, { Status: 'Complete' })
  check({ status: status('FailureTarget', 'Failed'), metadata }, { Status: 'Failed' })
  check({ status: status('Suspended'), metadata }, { Status: 'Terminating' })
  check({ status: status('Suspended') }, { Status: 'Suspended' })
  check({ status: status('FailureTarget') }, { Status: 'FailureTarget' })
  check({ status: status('SuccessCriteriaMet') }, { Status: 'SuccessCriteriaMet' })
  check({ status: { conditions: [{ type: 'Suspended', status: 'False' }] } }, { Status: 'Running' })
})

test('the CronJob table shows its schedule', () => {
  const { row } = columnsUnderTest('batch', 'CronJob')
  row({}, 'a', '', '<none>', '<unset>', 0, '<none>', '5m', '', '', '<none>')
  row(
    {
      spec: { schedule: '@daily', timeZone: 'Etc/UTC', suspend: true, jobTemplate: { spec: { template } } },
      status: { active: [{}, {}], lastScheduleTime: ago(60) },
    },
    'a',
    '@daily',
    'Etc/UTC',
    'True',
    2,
    '60s',
    '5m',
    'x',
    'x:1',
    '<none>',
  )
  row(
    { spec: { schedule: '0 * * * *', suspend: false } },
    'a',
    '0 * * * *',
    '<none>',
    'False',
    0,
    '<none>',
    '5m',
    '',
    '',
    '<none>',
  )
})
