import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../test-server.ts'

const apiVersion = 'resource.k8s.io/v1'
const claims = '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims'
const templates = '/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates'
const metadata = { name: 'c' }

test('admin access to devices requires a label on the namespace', async t => {
  const { request } = await startTestServer(t)
  const devices = { requests: [{ name: 'a', exactly: { deviceClassName: 'x', adminAccess: true } }] }
  const claim = { apiVersion, kind: 'ResourceClaim', metadata, spec: { devices } }
  const template = { apiVersion, kind: 'ResourceClaimTemplate', metadata, spec: { spec: { devices } } }
  const writes = [
    [claims, claim],
    [templates, template],
  ] as const
  for (const [path, object] of writes) {
    const refused = await request('POST', path, object)
    assert.deepEqual(
      [refused.code, refused.body.details?.causes],
      [
        422,
        [
          {
            reason: 'FieldValueForbidden',
            message:
              'Forbidden: admin access to devices requires the `resource.kubernetes.io/admin-access: true` ' +
              'label on the containing namespace',
            field: 'spec.devices.requests[0].adminAccess',
          },
        ],
      ],
    )
  }
  const labels = { 'resource.kubernetes.io/admin-access': 'true' }
  const merge = { 'content-type': 'application/merge-patch+json' }
  await request('PATCH', '/api/v1/namespaces/default', { metadata: { labels } }, merge)
  for (const [path, object] of writes) assert.equal((await request('POST', path, object)).code, 201)
})

test('CEL selectors of device classes and claims must compile within the cost limit', async t => {
  const { request } = await startTestServer(t)
  const causes = async (path: string, body: object): Promise<readonly (readonly string[])[]> => {
    const { body: answer } = await request('POST', `${path}?dryRun=All`, body)
    return (answer.details?.causes ?? []).map(({ reason = '', field = '' }) => [reason, field])
  }
  const all = (list: string, inner: string): string => `${list}.all(${inner})`
  const attributes = 'device.attributes["dra.example.com"]'
  const nested = all(
    attributes,
    `a, ${all(attributes, `b, ${all(attributes, `c, ${all(attributes, 'd, true')}`)}`)}`,
  )
  const cases = [
    ['device.driver == "dra.example.com"', undefined],
    [`${attributes}.index == 3`, undefined],
    ['nonsense + 1', 'FieldValueInvalid'],
    ['', 'FieldValueInvalid'],
    ['device.driver', 'FieldValueInvalid'],
    [nested, 'FieldValueForbidden'],
  ] as const
  for (const [expression, reason] of cases) {
    const selectors = [{ cel: { expression } }]
    const expected = (field: string): string[][] => (reason === undefined ? [] : [[reason, field]])
    const deviceClass = { apiVersion, kind: 'DeviceClass', metadata, spec: { selectors } }
    assert.deepEqual(
      await causes('/apis/resource.k8s.io/v1/deviceclasses', deviceClass),
      expected('spec.selectors[0].cel.expression'),
    )
    const exactly = { deviceClassName: 'x', selectors }
    const firstAvailable = [{ name: 's', deviceClassName: 'x', selectors }]
    const devices = { requests: [{ name: 'a', exactly }] }
    assert.deepEqual(
      await causes(claims, { apiVersion, kind: 'ResourceClaim', metadata, spec: { devices } }),
      expected('spec.devices.requests[0].exactly.selectors[0].cel.expression'),
    )
    const spec = { devices: { requests: [{ name: 'a', firstAvailable }] } }
    assert.deepEqual(
      await causes(templates, { apiVersion, kind: 'ResourceClaimTemplate', metadata, spec: { spec } }),
      expected('spec.spec.devices.requests[0].firstAvailable[0].selectors[0].cel.expression'),
    )
  }
})
