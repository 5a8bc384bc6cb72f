import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatServerAddress, parseServerAddress } from './server-address.ts'

test('server addresses are parsed to a canonical form, and everything else is refused', () => {
  const cases: Readonly<Record<string, string | undefined>> = {
    '10.0.0.1:6443': '10.0.0.1:6443',
    '[fd00:0:0::0001]:6443': '[fd00::1]:6443',
    'API.example.com:443': 'api.example.com:443',
    'cp-1:6443': 'cp-1:6443',
    '10.0.0.1': undefined,
    '10.0.0.1:': undefined,
    '10.0.0.1:0': undefined,
    '10.0.0.1:65536': undefined,
    '10.0.0.256:6443': undefined,
    '10.0.0:6443': undefined,
    'fd00::1:6443': undefined,
    '[10.0.0.1]:6443': undefined,
    '[fd00::1%eth0]:6443': undefined,
    'https://api.example.com:443': undefined,
    'a b:6443': undefined,
    '-a:6443': undefined,
    ':6443': undefined,
    '': undefined,
  }
  for (const [text, expected] of Object.entries(cases)) {
    const address = parseServerAddress(text)
    assert.equal(address && formatServerAddress(address), expected, text)
  }
})
