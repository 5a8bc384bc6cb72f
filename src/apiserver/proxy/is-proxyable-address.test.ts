import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProxyableAddress } from './is-proxyable-address.ts'

test('loopback, link-local and multicast addresses are not proxyable', () => {
  const yes = '10.0.0.1 192.168.0.1 8.8.8.8 172.16.0.1 240.0.0.1 2001:db8::1 fd00::1 ::2'
  const no =
    '127.0.0.1 127.8.8.8 0.0.0.0 169.254.169.254 224.0.0.1 239.1.1.1 255.255.255.255 ' +
    '::1 :: fe80::1 febf::1 ff02::1 ::ffff:127.0.0.1 ::ffff:169.254.169.254 localhost 010.0.0.1 10.0.0 x'
  for (const address of yes.split(' ')) assert.equal(isProxyableAddress(address), true, address)
  for (const address of no.split(' ')) assert.equal(isProxyableAddress(address), false, address)
  assert.equal(isProxyableAddress(''), false)
})
