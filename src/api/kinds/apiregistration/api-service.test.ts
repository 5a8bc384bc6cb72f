import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { APIService } from '../../generated/apiregistration/v1.ts'
import { underTest } from '../testdata/check-rules.ts'
import { apiServiceRules } from './api-service.ts'

const { check, checkStatus, withDefaults } = underTest(apiServiceRules)

const spec = { group: 'metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 }

function apiService(change: object, name = 'v1beta1.metrics.k8s.io'): object {
  return { metadata: { name }, spec: { ...spec, ...change } }
}

test('the name of an APIService must be version.group', () => {
  check(apiService({}))
  check(
    apiService({}, 'v1.metrics.k8s.io'),
    'metadata.name: Invalid value: "v1.metrics.k8s.io": must be `spec.version+"."+spec.group`: "v1beta1.metrics.',
  )
  check(apiService({ group: '' }, 'v1beta1.'), 'spec.group: Required value: only v1 may have an empty group')
  check(apiService({ group: '', version: 'v1' }, 'v1.'))
  check(
    apiService({ group: 'A', version: '1' }, '1.A'),
    'spec.group: Invalid value: "A"',
    'spec.version: Invalid value: "1"',
  )
})

test('validation of APIService priorities', () => {
  check(
    apiService({ groupPriorityMinimum: 20_001, versionPriority: 0 }),
    'spec.groupPriorityMinimum: Invalid value: 20001: must be positive and less than 20000',
    'spec.versionPriority: Invalid value: 0: must be positive and less than 1000',
  )
})

test('validation of APIService caBundle and insecureSkipTLSVerify', () => {
  const service = { namespace: 'kube-system', name: 'metrics' }
  assert.deepEqual(withDefaults(apiService({ service })), apiService({ service: { ...service, port: 443 } }))
  check(apiService({ service, insecureSkipTLSVerify: true }))
  check(
    apiService({ service, insecureSkipTLSVerify: true, caBundle: 'AAAA' }),
    'spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present',
  )
  check(
    apiService({ caBundle: 'AAAA', insecureSkipTLSVerify: true }),
    'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
    'spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify',
  )
  check(
    apiService({ service: { port: 70_000 } }),
    'spec.service.namespace: Required value',
    'spec.service.name: Required value',
    'spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive',
  )
})

test('APIService condition status must be True, False or Unknown', () => {
  checkStatus(
    { status: { conditions: [{ type: 'Available', status: 'Yes' }] } },
    {},
    'status.conditions[0].status: Unsupported value: "Yes": supported values: "True", "False", "Unknown"',
  )
})

test('a local APIService is available when it is created', () => {
  const creationTimestamp = '2026-01-01T00:00:00Z'
  const created = (change: object): unknown => {
    const { metadata, ...rest } = apiService(change) as APIService
    return apiServiceRules.prepareForCreate?.({ ...rest, metadata: { ...metadata, creationTimestamp } })
  }
  const condition = {
    type: 'Available',
    status: 'True',
    reason: 'Local',
    message: 'Local APIServices are always available',
    lastTransitionTime: creationTimestamp,
  }
  const status = (value: unknown): unknown => (value as APIService).status
  assert.deepEqual(status(created({})), { conditions: [condition] })
  assert.deepEqual(status(created({ service: { namespace: 'kube-system', name: 'metrics' } })), undefined)
})
