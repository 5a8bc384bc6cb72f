import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkReport, healthReport } from './health-report.ts'

test('a health report has the texts of Kubernetes and withholds reasons', () => {
  const check = (results: string, query: string, expected: string): void => {
    const parsed = results.split(' ').map(each => ({ name: each.slice(1), isPassed: each.startsWith('+') }))
    const { status, text } = healthReport('readyz', parsed, new URLSearchParams(query))
    assert.equal(`${status} ${text}`, expected)
  }
  check('+ping +etcd', '', '200 ok')
  check('+ping +etcd', 'verbose', '200 [+]ping ok\n[+]etcd ok\nreadyz check passed\n')
  check('+ping -etcd', '', '500 [+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n')
  check('+ping +etcd', 'verbose&exclude=etcd', '200 [+]ping ok\n[+]etcd excluded: ok\nreadyz check passed\n')
  check(
    '+ping',
    'verbose&exclude=none',
    '200 [+]ping ok\nwarn: some health checks cannot be excluded: no matches for "none"\nreadyz check passed\n',
  )
})

test('the report of a single check has its failure', () => {
  assert.deepEqual(checkReport(undefined), { status: 200, text: 'ok' })
  assert.deepEqual(checkReport('gone'), { status: 500, text: 'internal server error: gone\n' })
})
