import assert from 'node:assert/strict'
import { test } from 'node:test'
import { underTest } from '../testdata/check-rules.ts'
import { resourceSliceRules } from './resource-slice.ts'
import { resourceRules } from './group.ts'

const claims = underTest(resourceRules['ResourceClaim'])
const slices = underTest(resourceRules['ResourceSlice'])

const request = { name: 'gpu', exactly: { deviceClassName: 'gpu.example.com' } }

function claim(devices: object): { readonly spec: object } {
  return { spec: { devices: { requests: [request], ...devices } } }
}

function requesting(exactly: object): object {
  return claim({ requests: [{ name: 'gpu', exactly: { deviceClassName: 'a', ...exactly } }] })
}

test('a device request defaults to one device', () => {
  const { withDefaults } = claims
  const counted = { allocationMode: 'ExactCount', count: 1 }
  const exactly = { ...request.exactly, ...counted }
  assert.deepEqual(withDefaults(claim({})), claim({ requests: [{ ...request, exactly }] }))
  const all = { name: 'a', deviceClassName: 'b', allocationMode: 'All' }
  const one = { name: 'c', deviceClassName: 'd' }
  const firstAvailable = [all, one]
  assert.deepEqual(
    withDefaults(claim({ requests: [{ name: 'x', firstAvailable }] })),
    claim({ requests: [{ name: 'x', firstAvailable: [all, { ...one, ...counted }] }] }),
  )
  const template = { spec: claim({}) }
  assert.deepEqual(underTest(resourceRules['ResourceClaimTemplate']).withDefaults(template), {
    spec: claim({ requests: [{ ...request, exactly }] }),
  })
})

test('a device request requires exactly one of exactly and firstAvailable', () => {
  const { check } = claims
  const field = 'spec.devices.requests'
  check({})
  check(claim({}))
  check(
    claim({ requests: [{ name: 'A' }] }),
    `${field}[0].name: Invalid value: "A"`,
    `${field}[0]: Required value: exactly one of \`exactly\` or \`firstAvailable\` is required`,
  )
  check(
    claim({ requests: [{ ...request, firstAvailable: [{ name: 'a' }] }, request] }),
    `${field}[0]: Invalid value: null: exactly one of \`exactly\` or \`firstAvailable\` is required, but multiple`,
    `${field}[1]: Duplicate value: "gpu"`,
  )
  check(
    claim({ requests: Array.from({ length: 33 }, () => request) }),
    `${field}: Too many: 33: must have at most 32`,
  )
  check(
    claim({
      requests: [{ name: 'a', firstAvailable: [{ name: 'b' }, { name: 'b', deviceClassName: 'c' }] }],
    }),
    `${field}[0].firstAvailable[0].deviceClassName: Required value`,
    `${field}[0].firstAvailable[1]: Duplicate value: "b"`,
  )
})

test('validation of device class, allocation mode, selectors and tolerations', () => {
  const { check } = claims
  const field = 'spec.devices.requests[0].exactly'
  check(requesting({ deviceClassName: 'A' }), `${field}.deviceClassName: Invalid value: "A"`)
  check(
    requesting({ allocationMode: 'All', count: 2 }),
    `${field}.count: Invalid value: 2: must not be specified when allocationMode is 'All'`,
  )
  check(requesting({ count: -1 }), `${field}.count: Invalid value: -1: must be greater than zero`)
  check(
    requesting({ allocationMode: 'x' }),
    `${field}.allocationMode: Unsupported value: "x": supported values: "All", "ExactCount"`,
  )
  check(
    requesting({ selectors: [{}, { cel: {} }, { cel: { expression: 'x'.repeat(10_241) } }] }),
    `${field}.selectors[0].cel: Required value`,
    `${field}.selectors[2].cel.expression: Too long: may not be more than 10240 bytes`,
  )
  check(
    requesting({ tolerations: [{ operator: 'Exists', value: 'a' }, {}, { operator: 'x', effect: 'y' }] }),
    `${field}.tolerations[0].value: Invalid value: "a": must be empty for operator \`Exists\``,
    `${field}.tolerations[2].operator: Unsupported value: "x": supported values: "Equal", "Exists"`,
    `${field}.tolerations[2].effect: Unsupported value: "y": supported values: "NoExecute", "NoSchedule", "None"`,
  )
})

test('constraints and configuration must refer to existing requests', () => {
  const { check } = claims
  const field = 'spec.devices'
  const opaque = { driver: 'a.example.com', parameters: { kind: 'x' } }
  check(claim({ constraints: [{ requests: ['gpu'], matchAttribute: 'example.com/numa' }] }))
  check(
    claim({ constraints: [{ requests: ['cpu', 'a/b/c'], matchAttribute: 'numa' }, {}] }),
    `${field}.constraints[0].requests[0]: Invalid value: "cpu": must be the name of a request in the claim`,
    `${field}.constraints[0].requests[1]: Invalid value: "a/b/c": must be the name of a request in the claim`,
    `${field}.constraints[0].matchAttribute: Invalid value: "numa": a fully qualified name must be a domain and a`,
    `${field}.constraints[1]: Required value: exactly one of "matchAttribute" or "distinctAttribute" is required`,
  )
  check(claim({ config: [{ requests: ['gpu'], opaque }] }))
  check(
    claim({ config: [{}, { opaque: { driver: '', parameters: [] } }] }),
    `${field}.config[0].opaque: Required value`,
    `${field}.config[1].opaque.driver: Required value`,
    `${field}.config[1].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object`,
  )
  check(
    claim({ config: [{ opaque: { ...opaque, parameters: { a: 'x'.repeat(10_240) } } }] }),
    `${field}.config[0].opaque.parameters: Too long: may not be more than 10240 bytes`,
  )
})

test('the spec of a ResourceClaim is immutable', () => {
  claims.checkUpdate(claim({}), claim({}))
  claims.checkUpdate(claim({ requests: [] }), claim({}), 'spec: Invalid value: ')
  const metadata = { name: 'a', labels: { b: '-' } }
  underTest(resourceRules['ResourceClaimTemplate']).check(
    { spec: { ...claim({}), metadata } },
    'spec.metadata.labels: Invalid value: "-"',
    'spec.metadata.name: Forbidden: cannot be set',
  )
})

const device = { driver: 'a.example.com', pool: 'node-1', device: 'gpu-0' }
const allocation = { devices: { results: [{ ...device, request: 'gpu' }] } }

function withStatus(status: object, metadata?: object): object {
  return { ...claim({}), ...(metadata && { metadata }), status }
}

test('the allocation of a ResourceClaim is immutable once set', () => {
  const { checkStatus } = claims
  const field = 'status.allocation'
  checkStatus(withStatus({ allocation }), claim({}))
  const [result] = allocation.devices.results
  const other = { devices: { results: [{ ...result, device: 'x' }] } }
  checkStatus(withStatus({ allocation: other }), withStatus({ allocation }), `${field}: Invalid value: `)
  checkStatus(
    withStatus({ allocation: { devices: { results: [{ request: 'cpu', pool: 'a//b', shareID: 'x' }] } } }),
    claim({}),
    `${field}.devices.results[0].request: Invalid value: "cpu": must be the name of a request`,
    `${field}.devices.results[0].driver: Required value`,
    `${field}.devices.results[0].pool: Invalid value: ""`,
    `${field}.devices.results[0].device: Invalid value: ""`,
    `${field}.devices.results[0].shareID: Invalid value: "x": uid must be in RFC 4122 normalized form`,
  )
  checkStatus(
    withStatus({ allocation: { devices: { config: [{ source: 'x' }] } } }),
    claim({}),
    `${field}.devices.config[0].source: Unsupported value: "x": supported values: "FromClaim", "FromClass"`,
    `${field}.devices.config[0].opaque: Required value`,
  )
})

test('reservedFor requires an allocation and gains no entries during deletion', () => {
  const { checkStatus } = claims
  const consumer = { resource: 'pods', name: 'a', uid: '1' }
  checkStatus(
    withStatus({ reservedFor: [consumer] }),
    claim({}),
    'status.reservedFor: Forbidden: may not be specified when `allocated` is not set',
  )
  checkStatus(
    withStatus({ allocation, reservedFor: [consumer, consumer, {}] }),
    claim({}),
    'status.reservedFor[2].resource: Required value',
    'status.reservedFor[2].name: Required value',
    'status.reservedFor[2].uid: Required value',
    'status.reservedFor[1]: Duplicate value: "1"',
  )
  const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z' }
  checkStatus(
    withStatus({ allocation, reservedFor: [consumer] }, deletion),
    withStatus({ allocation }, deletion),
    'status.reservedFor: Forbidden: new entries may not be added while `deallocationRequested`',
  )
})

test('validation of device status', () => {
  const { checkStatus } = claims
  const reporting = (...devices: readonly object[]) => withStatus({ allocation, devices })
  checkStatus(reporting({ ...device, data: {}, networkData: { ips: ['10.0.0.1/24'] } }), claim({}))
  checkStatus(
    reporting({ ...device, device: 'other' }),
    claim({}),
    'status.devices[0]: Invalid value: "a.example.com/node-1/other": must be an allocated device in the claim',
  )
  checkStatus(
    reporting({ ...device, networkData: { ips: ['x', '10.0.0.01/24'], interfaceName: 'i'.repeat(257) } }),
    claim({}),
    'status.devices[0].networkData.interfaceName: Too long: may not be more than 256 bytes',
    'status.devices[0].networkData.ips[0]: Invalid value: "x": must be a valid address in CIDR form',
    'status.devices[0].networkData.ips[1]: Invalid value: "10.0.0.01/24": must be in canonical form',
  )
  checkStatus(withStatus({ devices: [device] }), withStatus({ allocation, devices: [device] }))
})

test('validation of DeviceClass', () => {
  const { check } = underTest(resourceRules['DeviceClass'])
  check({ spec: {} })
  check({ spec: { extendedResourceName: 'example.com/gpu' } })
  check(
    { spec: { extendedResourceName: 'cpu', config: [{}] } },
    'spec.config[0].opaque: Required value',
    'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
  )
})

function slice(spec: object): object {
  const pool = { name: 'node-1', generation: 1, resourceSliceCount: 1 }
  return { spec: { driver: 'a.example.com', pool, nodeName: 'node-1', ...spec } }
}

function sliceOf(change: object): object {
  return slice({ devices: [{ name: 'gpu-0', ...change }] })
}

test('validation of ResourceSlice driver, pool and node selection', () => {
  const { check, checkUpdate } = slices
  const rule = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required'
  check(slice({}))
  check(
    {},
    'spec.driver: Required value',
    'spec.pool.name: Required value',
    'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
    `spec: Required value: ${rule}`,
  )
  check(slice({ allNodes: true }), 'spec: Invalid value: "{`nodeName`, `allNodes`}": exactly one of')
  check(
    slice({ nodeName: '' }),
    'spec.nodeName: Invalid value: "": must be either unset or set to a non-empty string',
    `spec: Required value: ${rule}`,
  )
  check(
    slice({ nodeName: undefined, allNodes: false }),
    'spec.allNodes: Invalid value: false: must be either unset or set to true',
    `spec: Required value: ${rule}`,
  )
  check(
    slice({ pool: { name: 'a/-', generation: -1, resourceSliceCount: 1 } }),
    'spec.pool.name: Invalid value: "-"',
    'spec.pool.generation: Invalid value: -1: must be greater than or equal to zero',
  )
  check(
    slice({ devices: [], sharedCounters: [] }),
    'spec: Invalid value: "": only one of `sharedCounters` or `devices`',
  )
  checkUpdate(
    slice({ driver: 'b.example.com', nodeName: 'node-2' }),
    slice({}),
    'spec.driver: Invalid value: "b.example.com": field is immutable',
    'spec.nodeName: Invalid value: "node-2": field is immutable',
  )
})

test('validation of devices in a ResourceSlice', () => {
  const { check } = slices
  const field = 'spec.devices[0]'
  check(sliceOf({ attributes: { 'model': { string: 'x' }, 'example.com/v': { version: '1.2.3-rc.1+5' } } }))
  check(
    slice({ devices: [{ name: 'a' }, { name: 'a' }, {}] }),
    'spec.devices[2].name: Invalid value: ""',
    'spec.devices[1]: Duplicate value: "a"',
  )
  check(
    sliceOf({
      attributes: { 'a-b': { bool: true }, 'c': {}, 'd': { int: 1, bool: true }, 'e': { version: '1' } },
    }),
    `${field}.attributes: Invalid value: "a-b": a valid C identifier must start with`,
    `${field}.attributes[c]: Invalid value: "": exactly one value must be specified`,
    `${field}.attributes[d]: Invalid value: {"int":1,"bool":true}: exactly one value must be specified`,
    `${field}.attributes[e].version: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0`,
  )
  check(
    sliceOf({ attributes: { a: { string: 'x'.repeat(65) } } }),
    `${field}.attributes[a].string: Too long: may not`,
  )
  const many = Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`a${index}`, { bool: true }]))
  check(
    sliceOf({ attributes: many }),
    `${field}: Invalid value: 33: the total number of attributes and capacities`,
  )
  check(
    sliceOf({ taints: [{ key: 'a' }, { key: 'a', effect: 'x' }] }),
    `${field}.taints[0].effect: Required value`,
    `${field}.taints[1].effect: Unsupported value: "x": supported values: "NoExecute", "NoSchedule", "None"`,
  )
  check(
    sliceOf({ consumesCounters: [{}] }),
    `${field}.consumesCounters[0].counterSet: Required value`,
    `${field}.consumesCounters[0].counters: Required value`,
  )
  check(
    slice({ sharedCounters: [{ name: 'A', counters: { b: { value: '1' }, C: {} } }] }),
    'spec.sharedCounters[0].name: Invalid value: "A"',
    'spec.sharedCounters[0].counters: Invalid value: "C"',
  )
  check(
    sliceOf({ allNodes: true }),
    `${field}: Invalid value: null: \`nodeName\`, \`nodeSelector\` and \`allNodes\` can`,
  )
  const devices = [{ name: 'a' }, { name: 'b', allNodes: true }]
  check(
    slice({ nodeName: undefined, perDeviceNodeSelection: true, devices }),
    `${field}: Required value: exactly one of \`nodeName\`, \`nodeSelector\`, or \`allNodes\` is required when`,
  )
})

test('validation of binding conditions of a device', () => {
  const { check } = slices
  const field = 'spec.devices[0]'
  check(sliceOf({ bindingConditions: ['Ready'], bindingFailureConditions: ['Broken'] }))
  check(
    sliceOf({ bindingConditions: ['Ready'] }),
    `${field}.bindingFailureConditions: Invalid value: []: bindingFailureConditions are required to use`,
  )
  check(
    sliceOf({ bindingConditions: ['a', 'a'], bindingFailureConditions: ['a'] }),
    `${field}.bindingConditions[1]: Duplicate value: "a"`,
    `${field}.bindingFailureConditions[0]: Invalid value: "a": bindingFailureConditions must not overlap`,
  )
})

test('validation of consumable device capacity', () => {
  const { check } = slices
  const field = 'spec.devices[0].capacity[memory].requestPolicy'
  const sharing = (requestPolicy: object, allowMultipleAllocations = true) => {
    return sliceOf({ allowMultipleAllocations, capacity: { memory: { value: '10Gi', requestPolicy } } })
  }
  check(sharing({ default: '1Gi', validValues: ['1Gi', '2Gi'] }))
  check(sharing({ default: '1Gi', validRange: { min: '1Gi', max: '3Gi', step: '1Gi' } }))
  check(sharing({}, false), `${field}: Forbidden: allowMultipleAllocations must be true`)
  check(
    sharing({ validValues: ['1'] }),
    `${field}.default: Required value: required when validValues is defined`,
  )
  check(
    sharing({ default: '3Gi', validValues: ['2Gi', '1Gi', '1Gi', '11Gi'] }),
    `${field}.validValues[1]: Invalid value: "1Gi": values must be sorted in ascending order`,
    `${field}.validValues[2]: Duplicate value: "1Gi"`,
    `${field}.validValues[3]: Invalid value: "11Gi": option is larger than capacity value: 10Gi`,
    `${field}.validValues: Invalid value: "3Gi": default value is not valid according to the requestPolicy`,
  )
  check(
    sharing({ default: '1', validValues: ['1'], validRange: { min: '1' } }),
    `${field}: Forbidden: exactly one policy`,
  )
  check(
    sharing({ default: '1', validRange: {} }),
    `${field}.validRange.min: Required value: required when validRange`,
  )
  check(
    sharing({ default: '5Gi', validRange: { min: '6Gi', max: '2Gi', step: '0' } }),
    `${field}.validRange.min: Invalid value: "5Gi": default is less than min: 6Gi`,
    `${field}.validRange.max: Invalid value: "6Gi": min is larger than max: 2Gi`,
    `${field}.validRange.max: Invalid value: "5Gi": default is more than max: 2Gi`,
    `${field}.validRange.step: Invalid value: "5Gi": value is not a multiple of a given step (0) from (6Gi)`,
    `${field}.validRange.step: Invalid value: "2Gi": value is not a multiple of a given step (0) from (6Gi)`,
  )
})

test('fields of disabled features are dropped, and ResourceSlices are selected by node and driver', () => {
  const given = sliceOf({
    nodeAllocatableResourceMappings: { cpu: {} },
    attributes: { a: { ints: [1], int: 1 } },
  })
  const plain = sliceOf({ attributes: { a: { int: 1 } } })
  assert.deepEqual(resourceSliceRules.prepareForCreate?.(given as never), plain)
  assert.equal(resourceSliceRules.prepareForCreate?.(plain as never), plain)
  const { 'spec.nodeName': node, 'spec.driver': driver } = resourceSliceRules.selectableFields ?? {}
  assert.deepEqual([node?.(plain as never), driver?.(plain as never)], ['node-1', 'a.example.com'])
  const warnings = resourceSliceRules.warnings?.(slice({ driver: 'A.b' }) as never, undefined)
  assert.match(warnings?.join() ?? '', /lowercase; "A.b"/)
})
