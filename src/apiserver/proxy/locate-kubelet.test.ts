import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stored } from '../test-stored.ts'
import { locateKubelet, originOf } from './locate-kubelet.ts'

test('the kubelet address is the preferred node address', () => {
  const check = (addresses: string, port: number, expected: string): void => {
    const listed = addresses.split(' ').filter(Boolean)
    const status = {
      addresses: listed.map(each => {
        const [type = '', address = ''] = each.split('=')
        return { type, address }
      }),
      daemonEndpoints: { kubeletEndpoint: { Port: port } },
    }
    const locate = (): string => {
      const { host, port: found } = locateKubelet(stored({ metadata: { name: 'n' }, status }))
      return originOf('https', host, found)
    }
    if (expected.startsWith('https:')) assert.equal(locate(), expected)
    else assert.throws(locate, { message: expected })
  }
  check('Hostname=n InternalIP=10.0.0.1 InternalIP=fd00::1', 10_250, 'https://10.0.0.1:10250')
  check('Hostname=n ExternalIP=192.0.2.1', 1, 'https://192.0.2.1:1')
  check('InternalIP=fd00::1', 10_250, 'https://[fd00::1]:10250')
  check('Hostname=n', 10_250, 'https://n:10250')
  check('', 10_250, 'no preferred addresses found; known addresses: []')
  check('InternalDNS=x', 10_250, 'no preferred addresses found; known addresses: [InternalDNS x]')
  check('InternalIP=10.0.0.1', 0, 'node n has no kubelet endpoint port')
})
