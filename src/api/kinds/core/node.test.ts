import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeSpec, NodeStatus } from '../../generated/core/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { nodeRules } from './node.ts'
import { coreRules } from './group.ts'

const { check, checkUpdate, checkStatus, withDefaults } = underTest(coreRules['Node'])

const spec = (given: NodeSpec) => ({ metadata: { name: 'n1' }, spec: given })
const status = (given: NodeStatus) => ({ metadata: { name: 'n1' }, status: given })

test('defaults of Node', () => {
  const [podCIDR, podCIDRs] = ['10.0.0.0/24', ['10.0.0.0/24']]
  assert.deepEqual(withDefaults(spec({ podCIDR })), spec({ podCIDR, podCIDRs }))
  assert.deepEqual(withDefaults(spec({ podCIDRs })), spec({ podCIDR, podCIDRs }))
  assert.deepEqual(withDefaults(spec({ podCIDR, podCIDRs: ['10.0.1.0/24'] })), spec({ podCIDR, podCIDRs }))
  const capacity = { cpu: '2' }
  assert.deepEqual(withDefaults(status({ capacity })), status({ capacity, allocatable: capacity }))
  assert.deepEqual(withDefaults(status({ capacity, allocatable: {} })), status({ capacity, allocatable: {} }))
  const rounded = withDefaults(status({ allocatable: { cpu: '1500u' } }))
  assert.deepEqual(rounded, status({ allocatable: { cpu: '2m' } }))
})

test('validation of Node taints', () => {
  check(
    spec({
      taints: [
        { key: 'a/b', effect: 'NoExecute' },
        { key: 'a/b', effect: 'NoSchedule' },
      ],
    }),
  )
  check(
    spec({ taints: [{ key: '', value: 'c d', effect: '' }] }),
    'metadata.taints[0].key: Invalid value: "": name part must be non-empty',
    'metadata.taints[0].key: Invalid value: "": name part must consist of',
    'metadata.taints[0].value: Invalid value: "c d": a valid label must be',
    'metadata.taints[0].effect: Required value',
  )
  check(
    spec({ taints: [{ key: 'a', effect: 'Never' }] }),
    'metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedul',
  )
  check(
    spec({
      taints: [
        { key: 'a', effect: 'NoExecute' },
        { key: 'a', value: 'b', effect: 'NoExecute' },
      ],
    }),
    'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoExecute","TimeAdded":null}: tai',
  )
})

test('validation of Node podCIDRs', () => {
  check(spec({ podCIDRs: ['10.0.0.0/24', 'fd00::/64'] }))
  check(
    spec({ podCIDRs: ['10.0.0.0/24', '10.0.1.0/24'] }),
    'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each',
  )
  check(spec({ podCIDR: 'x' }), 'spec.podCIDRs[0]: Invalid value: "x": must be a valid CIDR value')
})

test('validation of Node capacity, allocatable and declared features', () => {
  check(status({ capacity: { 'cpu': '1500m', 'pods': '110', 'example.com/gpu': '2' } }))
  check(
    status({ capacity: { cpu: '-1', pods: '1500m' }, allocatable: { 'example.com/gpu': '500m' } }),
    'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
    'status.capacity.pods: Invalid value: "1500m": must be an integer',
    'status.allocatable.example.com/gpu: Invalid value: "500m": must be an integer',
  )
  check(status({ declaredFeatures: ['A', 'B/c'] }))
  check(
    status({ declaredFeatures: ['B', 'A', 'A', 'c'] }),
    'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
    'status.declaredFeatures[2]: Duplicate value: "A"',
    'status.declaredFeatures[3]: Invalid value: "c": invalid feature name "c": must start with an UpperCamel',
  )
  check(status({ declaredFeatures: [`A${'/a'.repeat(200)}`] }), 'status.declaredFeatures[0]: Invalid value')
})

test('podCIDRs and providerID of a Node are immutable once set', () => {
  checkUpdate(spec({ podCIDR: '10.0.0.0/24', providerID: 'a', unschedulable: true }), spec({}))
  const old = spec({ podCIDR: '10.0.0.0/24', providerID: 'a' })
  checkUpdate(
    spec({ podCIDR: '10.0.1.0/24', providerID: 'b' }),
    old,
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  )
  checkUpdate(spec({ externalID: 'a' }), spec({}), 'spec.externalID: Forbidden: may not be updated')
})

test('validation of Node status', () => {
  const address = { type: 'InternalIP', address: '10.0.0.1' }
  checkStatus(status({ addresses: [address, { ...address, type: 'ExternalIP' }] }), status({}))
  checkStatus(
    status({ addresses: [address, address] }),
    status({}),
    'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"10.0.0.1"}',
  )
  const config = { assigned: { configMap: { namespace: 'A', name: '', kubeletConfigKey: 'a' } } }
  checkStatus(status({ config }), status({}))
  checkStatus(
    status({ config }),
    status({ config }),
    'status.config.assigned.configMap.uid: Required value',
    'status.config.assigned.configMap.resourceVersion: Required value',
    'status.config.assigned.configMap.namespace: Invalid value: "A"',
    'status.config.assigned.configMap.name: Required value',
  )
})

test('Nodes can be selected by spec.unschedulable', () => {
  const field = nodeRules.selectableFields?.['spec.unschedulable']
  assert.equal(field?.({ metadata: {}, spec: { unschedulable: true } }), 'true')
  assert.equal(field?.({ metadata: {} }), 'false')
})
