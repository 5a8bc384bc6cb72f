import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileFilter, isAccepted, usualPatterns } from './request-filter.ts'
import { routeRequest, type ProxyPrefixes, type ProxyRoute } from './route-request.ts'

function show(route: ProxyRoute): string {
  if (route.type === 'api') return `api ${route.target} ${route.path}`
  if (route.type === 'file') return `file ${route.path}`
  return route.type === 'redirect' ? `redirect ${route.location}` : route.type
}

test('requests are for the API, for files, or redirected to clean paths', () => {
  const check = (prefixes: ProxyPrefixes, target: string, expected: string): void => {
    assert.equal(show(routeRequest(target, prefixes)), expected)
  }
  const usual = { api: '/', files: '/static/' }
  check(usual, '/api/v1?a=b', 'api /api/v1?a=b /api/v1')
  check(usual, '/', 'api / /')
  check(usual, '/api/v1/a%2Fb', 'api /api/v1/a%2Fb /api/v1/a/b')
  check(usual, '/static', 'redirect /static/')
  check(usual, '/static/a%20b', 'file /a b')
  check(usual, '/static/', 'file /')
  check(usual, '/static/..%2f..%2fetc/passwd', 'file /etc/passwd')
  check(usual, '/a//b?x', 'redirect /a/b?x')
  check(usual, '/a/../b', 'redirect /b')
  check(usual, '/%zz', 'not found')
  check({ api: '/' }, '/static/a', 'api /static/a /static/a')
  check({ api: '/custom/' }, '/custom/version?x', 'api /version?x /version')
  check({ api: '/custom/' }, '/custom/', 'api / /')
  check({ api: '/custom/' }, '/custom', 'redirect /custom/')
  check({ api: '/custom/' }, '/version', 'not found')
  check({ api: '/api/' }, '/api/v1', 'api /api/v1 /api/v1')
  check({ api: '/custom/' }, '/%63ustom/a%2Fb', 'api /a/b /a/b')
})

test('requests are filtered by path, method and host', () => {
  const filter = compileFilter({ ...usualPatterns, rejectMethods: 'DELETE,^PUT$' })
  const check = (method: string, [path, host]: readonly [string, string], expected: boolean): void => {
    assert.equal(isAccepted(filter, { method, path, host }), expected, `${method} ${path} ${host}`)
  }
  check('GET', ['/api/v1/pods', 'localhost:8001'], true)
  check('GET', ['/api/v1/pods', '127.0.0.1'], true)
  check('GET', ['/api/v1/pods', '[::1]'], true)
  check('GET', ['/api/v1/pods', 'example.com'], false)
  check('GET', ['/api/v1/pods', 'localhost.example.com:8001'], false)
  check('DELETE', ['/api/v1/pods', 'localhost'], false)
  check('PUT', ['/api/v1/pods', 'localhost'], false)
  check('GET', ['/api/v1/namespaces/a/pods/b/exec', 'localhost'], false)
  check('GET', ['/api/v1/namespaces/a/pods/b/attach', 'localhost'], false)
  check('GET', ['/x/../api/v1/namespaces/a/pods/b/exec', 'localhost'], false)
  check('GET', ['/api/v1/namespaces/a/pods/b/log', 'localhost'], true)
  assert.throws(
    () => compileFilter({ ...usualPatterns, acceptPaths: '(' }),
    /^ExitError: Error compiling re: /,
  )
})
