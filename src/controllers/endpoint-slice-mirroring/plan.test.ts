import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EndpointAddress, Endpoints } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { planMirror } from './plan.ts'
import { stored } from '../test-stored.ts'

function endpointsOf(subsets: Endpoints['subsets'], uid = 'uid'): Stored<Endpoints> {
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': '{}',
    'endpoints.kubernetes.io/last-change-trigger-time': 'now',
    'note': 'kept',
  }
  return stored({
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { namespace: 'default', name: 'db', uid, labels: { team: 'a' }, annotations },
    ...(subsets && { subsets }),
  })
}

function addresses(...ips: readonly string[]): readonly EndpointAddress[] {
  return ips.map(ip => ({ ip }))
}

const ports = [{ name: 'sql', port: 5432, protocol: 'TCP' }]
const both = endpointsOf([
  { addresses: addresses('192.0.2.1', '2001:db8::1'), notReadyAddresses: addresses('192.0.2.2'), ports },
])

function created(slices: readonly EndpointSlice[]): readonly Stored<EndpointSlice>[] {
  return slices.map((slice, index) =>
    stored({ ...slice, metadata: { ...slice.metadata, name: `db-${index}` } }),
  )
}

function show(slices: readonly EndpointSlice[]): readonly string[] {
  return slices.map(({ addressType, endpoints = [], ports: each = [] }) => {
    const shown = endpoints.map(({ addresses: [ip], conditions }) => `${conditions?.ready ? '' : '-'}${ip}`)
    return `${addressType} ${shown.join()}:${each.map(({ port }) => port).join()}`
  })
}

test('mirroring creates one slice per set of ports and IP family, once', () => {
  const { create } = planMirror(both, [])
  assert.deepEqual(show(create), ['IPv4 192.0.2.1,-192.0.2.2:5432', 'IPv6 2001:db8::1:5432'])
  assert.deepEqual(create[0]?.metadata, {
    namespace: 'default',
    generateName: 'db-',
    labels: {
      'team': 'a',
      'kubernetes.io/service-name': 'db',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    },
    annotations: { note: 'kept' },
    ownerReferences: [
      {
        apiVersion: 'v1',
        kind: 'Endpoints',
        name: 'db',
        uid: 'uid',
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  })
  const again = planMirror(both, created(create))
  assert.deepEqual([again.create, again.update, again.delete], [[], [], []])
})

test('mirroring updates existing slices and deletes unneeded ones', () => {
  const slices = created(planMirror(both, []).create)
  const check = (
    endpoints: Stored<Endpoints>,
    update: readonly string[],
    deleted: readonly string[],
  ): void => {
    const plan = planMirror(endpoints, slices)
    assert.deepEqual([plan.create, show(plan.update), show(plan.delete)], [[], update, deleted])
  }
  const [four = '', six = ''] = show(slices)
  check(endpointsOf([{ addresses: addresses('192.0.2.3'), ports }]), ['IPv4 192.0.2.3:5432'], [six])
  const moved = [{ name: 'sql', port: 5433, protocol: 'TCP' }]
  check(endpointsOf([{ addresses: addresses('192.0.2.3'), ports: moved }]), ['IPv4 192.0.2.3:5433'], [six])
  check(endpointsOf([]), [], [four, six])
  // Recreated Endpoints have another uid, so the owner reference must change.
  check(endpointsOf(both.subsets, 'other'), [four, six], [])
})

test('invalid and excess addresses are skipped and counted', () => {
  const many = Array.from({ length: 1_002 }, (_, index) => `10.0.${index >> 8}.${index & 255}`)
  const { create, skippedCount, invalidCount } = planMirror(
    endpointsOf([{ addresses: addresses(...many, 'nonsense'), ports }]),
    [],
  )
  assert.deepEqual([create[0]?.endpoints?.length, skippedCount, invalidCount], [1_000, 2, 1])
})
