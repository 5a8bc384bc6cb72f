import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countConflicts, metricLines } from './metric-lines.ts'

const text = `# HELP apiserver_request_total [STABLE] Counter
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",group="apps",resource="deployments",subresource="status",verb="PUT"} 40
apiserver_request_total{code="409",group="apps",resource="deployments",subresource="status",verb="PUT"} 2
apiserver_request_total{code="409",group="",resource="pods",subresource="",verb="PATCH"} 7 1700000000000
apiserver_request_total{code="409",group="",resource="",subresource="",verb="GET"} 7
apiserver_request_total_more{code="409",group="",resource="nodes",verb="PUT"} 7
apiserver_request_total{code="201",group="",resource="configmaps",subresource="",verb="POST"} 1`

test('metricLines finds the series of exactly one metric', () => {
  assert.equal(metricLines(text, 'apiserver_request_total').length, 5)
  assert.deepEqual(metricLines('\nm{a="1\\"}\\n\\\\",b=""} 2.5e3', 'm'), [
    { labels: { a: '1"}\n\\', b: '' }, value: 2_500 },
  ])
  assert.deepEqual(metricLines('\nm{a="1"', 'm'), [])
})

test('countConflicts counts answers 409 by resource and verb among all requests of that kind', () => {
  assert.deepEqual(countConflicts(text), [
    { resource: 'pods', verb: 'PATCH', count: 7, requests: 7 },
    { resource: 'deployments.apps/status', verb: 'PUT', count: 2, requests: 42 },
  ])
  assert.deepEqual(countConflicts(''), [])
})
