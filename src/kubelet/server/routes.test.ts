import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findRoute } from './routes.ts'

test('a path is routed to one handler or none', () => {
  const check = (request: string, expected: string): void => {
    const [method = '', path = ''] = request.split(' ')
    const found = findRoute(method, path)
    const shown =
      typeof found === 'string' ? found : `${found.handle.name} ${Object.values(found.parameters).join()}`
    assert.equal(shown.trim(), expected, request)
  }
  check('GET /pods', 'showPods')
  check('GET /pods/', 'showPods')
  check('POST /pods', 'not allowed')
  check('GET /podsx', 'not found')
  check('GET //pods', 'not found')
  check('GET /', 'not found')
  check('GET /containerLogs/a/b/c', 'showContainerLog a,b,c')
  check('GET /containerLogs/a//c', 'not found')
  check('GET /containerLogs/a/b', 'not found')
  check('POST /exec/a/b/c', 'exec a,b,c')
  check('GET /exec/a/b/uid/c', 'exec a,b,uid,c')
  check('GET /exec/a/b/c/d/e', 'not found')
  check('GET /run/a/b/c', 'not allowed')
  check('POST /portForward/a/b', 'forwardPorts a,b')
  check('GET /logs/x/y.log', 'showNodeLog x/y.log')
  check('GET /metrics/resource', 'showResourceMetrics')
  check('GET /metrics/cadvisor', 'showCadvisorMetrics')
  check('GET /metrics/probes', 'showProbeMetrics')
  check('GET /debug/passes', 'showPasses')
  check('GET /metrics/slis', 'showSliMetrics')
  check('GET /metrics/other', 'not found')
})
