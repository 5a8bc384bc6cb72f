import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint, EndpointPort, EndpointSlice } from '../../generated/discovery/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { endpointSliceRules } from './endpoint-slice.ts'

const { check, checkUpdate, withDefaults } = underTest(endpointSliceRules)

function slice(endpoint: Partial<Endpoint>, addressType = 'IPv4'): EndpointSlice {
  return { metadata: { name: 's' }, addressType, endpoints: [{ addresses: ['10.0.0.1'], ...endpoint }] }
}

const ports = (...given: EndpointPort[]) => ({ addressType: 'IPv4', ports: given })

test('EndpointSlice ports default to an empty name and TCP', () => {
  assert.deepEqual(withDefaults(ports({ port: 80 })), ports({ name: '', protocol: 'TCP', port: 80 }))
})

test('validation of EndpointSlice ports', () => {
  check(ports({ name: 'a' }, { name: 'b' }))
  check(ports({ name: 'A' }), 'ports[0].name: Invalid value: "A"')
  check(ports({}, {}), 'ports[1].name: Duplicate value: ""')
  check(
    ports({ protocol: 'ICMP', appProtocol: 'a b' }),
    'ports[0].protocol: Unsupported value: "ICMP"',
    'ports[0].appProtocol: Invalid value: "a b"',
  )
})

test('EndpointSlice addresses must match the address type', () => {
  check(slice({}))
  check(slice({}, 'Any'), 'addressType: Unsupported value: "Any": supported values: "FQDN", "IPv4", "IPv6"')
  check({ endpoints: [] }, 'addressType: Required value')
  check(slice({ addresses: [] }), 'endpoints[0].addresses: Required value: must contain at least 1 address')
  check(
    slice({ addresses: ['fd00::1'] }),
    'endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address',
  )
  check(slice({}, 'IPv6'), 'endpoints[0].addresses: Invalid value: "10.0.0.1": must be an IPv6 address')
  check(
    slice({ addresses: ['fd00:0::1'] }, 'IPv6'),
    'endpoints[0].addresses[0]: Invalid value: "fd00:0::1": must be in c',
  )
  check(
    slice({ addresses: ['127.0.0.1'] }),
    'endpoints[0].addresses[0]: Invalid value: "127.0.0.1": may not be in',
  )
  check(slice({ addresses: ['a.example'] }, 'FQDN'))
  check(
    slice({ addresses: ['a'] }, 'FQDN'),
    'endpoints[0].addresses[0]: Invalid value: "a": should be a domain',
  )
  const many = Array<string>(101).fill('10.0.0.1')
  check(slice({ addresses: many }), 'endpoints[0].addresses: Too many: 101: must have at most 100 items')
})

test('validation of node name, zone and hints of endpoints', () => {
  check(slice({ nodeName: 'n1', hostname: 'a', zone: 'z' }))
  check(slice({ hints: { forZones: [{ name: 'z' }], forNodes: [{ name: 'n' }] } }))
  check(
    slice({ nodeName: 'N', hostname: 'a.b' }),
    'endpoints[0].nodeName: Invalid value: "N"',
    'endpoints[0].hostname: Invalid value: "a.b": must not contain dots',
  )
  check(
    slice({ hints: { forZones: [{ name: 'z' }, { name: 'z' }] } }),
    'endpoints[0].hints.forZones[1].name: Duplicate',
  )
  const nine = Array.from({ length: 9 }, (_, index) => ({ name: `n${index}` }))
  check(
    slice({ hints: { forZones: nine } }),
    'endpoints[0].hints.forZones: Too many: 9: must have at most 8 items',
  )
  check(
    slice({ hints: { forNodes: nine } }),
    'endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items',
  )
})

test('an EndpointSlice holds at most 1,000 endpoints', () => {
  const endpoints = Array.from({ length: 1_001 }, () => ({ addresses: ['10.0.0.1'] }))
  check({ addressType: 'IPv4', endpoints }, 'endpoints: Too many: 1001: must have at most 1000 items')
})

test('EndpointSlice addressType is immutable and unchanged endpoints are not revalidated', () => {
  checkUpdate(
    slice({ addresses: ['fd00::1'] }, 'IPv6'),
    slice({}),
    'addressType: Invalid value: "IPv6": field is immutable',
  )
  const wrong = slice({ addresses: ['010.0.0.1'] })
  checkUpdate({ ...wrong, metadata: { name: 's', labels: { a: 'b' } } }, wrong)
  checkUpdate(
    slice({ addresses: ['010.0.0.2'] }),
    wrong,
    'endpoints[0].addresses[0]: Invalid value: "010.0.0.2"',
  )
})

test('deprecatedTopology of an EndpointSlice is dropped', () => {
  const deprecatedTopology = { 'kubernetes.io/hostname': 'n1' }
  const created = endpointSliceRules.prepareForCreate?.(slice({ deprecatedTopology }))
  assert.deepEqual(created, slice({}))
  const stored = slice({ deprecatedTopology })
  const given = slice({ deprecatedTopology, hostname: 'a' })
  const updated = endpointSliceRules.prepareForUpdate?.(given, stored)
  assert.deepEqual(updated, slice({ hostname: 'a', nodeName: 'n1' }))
  assert.equal(endpointSliceRules.prepareForUpdate?.(stored, slice({ deprecatedTopology })), stored)
})

test('EndpointSlice address type FQDN returns a deprecation warning', () => {
  assert.deepEqual(endpointSliceRules.warnings?.(slice({ addresses: ['a.b'] }, 'FQDN'), undefined), [
    'spec.addressType: FQDN endpoints are deprecated',
  ])
})
