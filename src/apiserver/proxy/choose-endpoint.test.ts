import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { endpointsOf, servicePortName } from './choose-endpoint.ts'

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
