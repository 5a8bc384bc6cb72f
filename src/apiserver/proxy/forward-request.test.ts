import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rewriteUrl } from './forward-request.ts'

test('links to the backend are rewritten to the proxy, others are unchanged', () => {
  const origins = {
    prefix: '/api/v1/namespaces/a/pods/p/proxy',
    backendHost: '10.0.0.1:80',
    requestHost: 'api:6443',
  }
  const check = (url: string, expected: string): void => {
    assert.equal(rewriteUrl(url, origins), expected.replace('^', origins.prefix), url)
  }
  check('/x?y=/z#w', '^/x?y=/z#w')
  check('/', '^/')
  check('http://10.0.0.1:80/x', '^/x')
  check('https://10.0.0.1:80/x/', '^/x/')
  check('//10.0.0.1:80/x', '^/x')
  check('https://api:6443/x', 'https://api:6443^/x')
  check('http://example.com/x', 'http://example.com/x')
  check('//example.com/x', '//example.com/x')
  check('x/y', 'x/y')
  check('?a=/b', '?a=/b')
  check('#top', '#top')
  check('', '')
  check('http://10.0.0.1:80', 'http://10.0.0.1:80')
  check('mailto:a@b', 'mailto:a@b')
  check('data:text/plain,/x', 'data:text/plain,/x')
  check('/api/v1/namespaces/a/pods/p/proxy/x', '^/x')
})
