import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proxyFromEnvironment } from './proxy-environment.ts'

const proxy = 'http://proxy:3128'

test('the environment selects the proxy by the scheme of the server', () => {
  const check = (server: string, environment: Record<string, string>, expected: string | undefined): void =>
    assert.equal(
      proxyFromEnvironment(server, environment),
      expected,
      `${server} ${JSON.stringify(environment)}`,
    )
  check('https://h', {}, undefined)
  check('https://h', { HTTPS_PROXY: proxy }, proxy)
  check('https://h', { https_proxy: proxy }, proxy)
  check('https://h', { HTTPS_PROXY: '', https_proxy: proxy }, proxy)
  check('https://h', { HTTPS_PROXY: 'http://a', https_proxy: proxy }, 'http://a')
  check('https://h', { HTTP_PROXY: proxy, ALL_PROXY: proxy }, undefined)
  check('http://h', { HTTP_PROXY: proxy }, proxy)
  check('http://h', { HTTPS_PROXY: proxy }, undefined)
  check('https://h', { HTTPS_PROXY: 'proxy:3128' }, proxy)
  check('https://h', { HTTPS_PROXY: 'socks5://proxy:3128' }, 'socks5://proxy:3128')
  check('https://h', { HTTPS_PROXY: 'http://[' }, undefined)
  for (const host of ['localhost', '127.0.0.1', '127.9.9.9', '[::1]', '[::ffff:127.0.0.1]'])
    check(`https://${host}:6443`, { HTTPS_PROXY: proxy }, undefined)
})

test('NO_PROXY excludes domains, addresses, ranges and ports', () => {
  const check = (server: string, entries: string, isDirect: boolean): void => {
    const environment = { HTTPS_PROXY: proxy, no_proxy: entries }
    const expected = isDirect ? undefined : proxy
    assert.equal(proxyFromEnvironment(server, environment), expected, `${server} ${entries}`)
  }
  check('https://h', '*', true)
  check('https://a.example.com', 'other, example.com', true)
  check('https://example.com', 'EXAMPLE.com', true)
  check('https://badexample.com', 'example.com', false)
  check('https://example.com', '.example.com', false)
  check('https://a.example.com', '.example.com', true)
  check('https://a.example.com', '*.example.com', true)
  check('https://example.com', '*.example.com', false)
  check('https://example.com', 'example.com:443', true)
  check('https://example.com:6443', 'example.com:443', false)
  check('https://10.1.2.3', '10.1.2.3', true)
  check('https://10.1.2.3:6443', '10.1.2.3:6443', true)
  check('https://10.1.2.3', '10.1.2.3:6443', false)
  check('https://10.1.2.3', '10.0.0.0/8', true)
  check('https://11.1.2.3', '10.0.0.0/8', false)
  check('https://h', '10.0.0.0/8', false)
  check('https://10.1.2.3', '2.3', false)
  check('https://[2001:db8::1]', '2001:db8::1', true)
  check('https://[2001:db8::1]:6443', '[2001:db8::1]:6443', true)
  check('https://[2001:db8::1]', '2001:db8::/32', true)
  check('https://[2001:db8::1]', '2001:db9::/32', false)
  check('https://h', ', ,:80,', false)
})
