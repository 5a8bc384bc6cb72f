import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointsOf, servicePortName, isProxyableAddress, parseTargetName } from './proxy-locations.ts'

/** Parses a slice: `IPv4 http=8080 10.0.0.1 10.0.0.2!` has two endpoints, the second not ready. */
function slice(text: string): EndpointSlice {
  const [addressType = '', port = '', ...addresses] = text.split(' ')
  const [name = '', number = ''] = port.split('=')
  return {
    metadata: {},
    addressType,
    ports: [{ name, port: Number(number) }],
    endpoints: addresses.map(address => {
      const [, plain = '', mark = ''] = /^([^!?]*)([!?]?)$/.exec(address) ?? []
      const targetRef = { kind: 'Pod', namespace: 'a', name: `pod-${plain}` }
      return { addresses: [plain], conditions: { ready: mark !== '!' }, ...(mark !== '?' && { targetRef }) }
    }),
  }
}

test('service endpoints are ready pods, first IP family first', () => {
  const check = (
    slices: readonly string[],
    port: string,
    expected: string,
    families?: readonly string[],
  ): void => {
    const found = endpointsOf(slices.map(slice), port, families)
    assert.equal(found.map(({ address, port: number }) => `${address}:${number}`).join(' '), expected)
  }
  check(['IPv4 http=8080 10.0.0.1 10.0.0.2! 10.0.0.3?'], 'http', '10.0.0.1:8080')
  check(['IPv4 http=8080 10.0.0.1'], '', '')
  check(['IPv4 =8080 10.0.0.1'], '', '10.0.0.1:8080')
  check(['IPv6 =1 fd00::1', 'IPv4 =1 10.0.0.1'], '', '10.0.0.1:1 fd00::1:1', ['IPv4', 'IPv6'])
  check(['FQDN =1 example.com'], '', '')
  check([], '', '')
})

test('a service port is selected by number or name', () => {
  const service = { metadata: {}, spec: { ports: [{ name: 'http', port: 80 }, { port: 443 }] } }
  const check = (port: string, expected: string | undefined): void => {
    assert.equal(servicePortName(service, port), expected, port)
  }
  check('80', 'http')
  check('0080', 'http')
  check('443', '')
  check('81', undefined)
  check('http', 'http')
  check('', '')
})

test('loopback, link-local and multicast addresses are not proxyable', () => {
  const yes = '10.0.0.1 192.168.0.1 8.8.8.8 172.16.0.1 240.0.0.1 2001:db8::1 fd00::1 ::2'
  const no =
    '127.0.0.1 127.8.8.8 0.0.0.0 169.254.169.254 224.0.0.1 239.1.1.1 255.255.255.255 ' +
    '::1 :: fe80::1 febf::1 ff02::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 localhost 010.0.0.1 10.0.0 x'
  for (const address of yes.split(' ')) assert.equal(isProxyableAddress(address), true, address)
  for (const address of no.split(' ')) assert.equal(isProxyableAddress(address), false, address)
  assert.equal(isProxyableAddress(''), false)
})

test('a proxy target is [scheme:]name[:port]', () => {
  const check = (text: string, expected: string | undefined): void => {
    const found = parseTargetName(text)
    assert.equal(found && `${found.scheme}|${found.name}|${found.port}`, expected, text)
  }
  check('web', '|web|')
  check('web:80', '|web|80')
  check('web:', '|web|')
  check('http:web:http', 'http|web|http')
  check('https:web:', 'https|web|')
  check(':web:80', '|web|80')
  check('ftp:web:80', undefined)
  check('', undefined)
  check('http::80', undefined)
  check('a:b:c:d', undefined)
})
