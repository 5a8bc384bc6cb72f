import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndpointSubset } from '../../generated/core/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { endpointsRules } from './endpoints.ts'
import { coreRules } from './group.ts'

const { check, checkUpdate, withDefaults } = underTest(coreRules['Endpoints'])

const endpoints = (subset: EndpointSubset) => ({ metadata: { name: 'web' }, subsets: [subset] })
const addresses = [{ ip: '10.0.0.1' }]

test('Endpoints ports default to TCP', () => {
  const filled = withDefaults(endpoints({ ports: [{ port: 80 }] }))
  assert.deepEqual(filled, endpoints({ ports: [{ port: 80, protocol: 'TCP' }] }))
})

test('validation of Endpoints', () => {
  check(endpoints({ addresses }))
  check(endpoints({ notReadyAddresses: addresses, ports: [{ port: 80 }] }))
  check(endpoints({}), 'subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`')
  check(
    endpoints({ addresses: [{ ip: 'x' }] }),
    'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
    'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
  )
  check(
    endpoints({ addresses: [{ ip: '169.254.0.1', hostname: 'A', nodeName: '' }] }),
    'subsets[0].addresses[0].hostname: Invalid value: "A"',
    'subsets[0].addresses[0].nodeName: Invalid value: ""',
    'subsets[0].addresses[0].ip: Invalid value: "169.254.0.1": may not be in the link-local range',
  )
  check(
    endpoints({ addresses, ports: [{ port: 80 }, { port: 0, name: 'b', protocol: 'x' }] }),
    'subsets[0].ports[0].name: Required value',
    'subsets[0].ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive',
    'subsets[0].ports[1].protocol: Unsupported value: "x"',
  )
})

test('unchanged Endpoints subsets are not revalidated', () => {
  const old = endpoints({ addresses: [{ ip: '010.0.0.1' }] })
  checkUpdate({ ...old, metadata: { name: 'web', labels: { a: 'b' } } }, old)
  checkUpdate(
    endpoints({ addresses: [{ ip: '010.0.0.2' }] }),
    old,
    'subsets[0].addresses[0].ip: Invalid value',
  )
})

test('Endpoints return warnings for ambiguous addresses', () => {
  const warnings = endpointsRules.warnings?.(endpoints({ addresses: [{ ip: '1:0::1' }] }), undefined)
  assert.deepEqual(warnings, [
    'subsets[0].addresses[0].ip: IPv6 address "1:0::1" should be in RFC 5952 canonical format ("1::1")',
  ])
})
