import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#/api/metadata.ts'
import { kubernetesService, withOwnAddress } from './kubernetes-service.ts'

function objects(advertiseAddress: string, port: number): readonly KubernetesObject[] {
  return kubernetesService({ serviceCidrs: ['10.96.0.0/12'], advertiseAddress, port })
}

test('only the server address of a stored object is updated', () => {
  const before = objects('10.0.0.1', 1001)
  const after = objects('10.0.0.2', 1002)
  const [service, ...behind] = before.map((object, index) => withOwnAddress(object, after[index]!))
  assert.deepEqual([service, ...behind], after)
  const other = kubernetesService({ serviceCidrs: ['10.0.0.0/12'], advertiseAddress: '10.0.0.1', port: 1001 })
  assert.deepEqual(withOwnAddress(before[0]!, other[0]!), before[0])
  const [, , slice] = before
  assert.equal(withOwnAddress(slice!, objects('fd00::1', 1002)[2]!), slice)
})

test('a loopback server address has no endpoints', () => {
  assert.deepEqual(
    objects('127.0.0.1', 6443).map(({ kind }) => kind),
    ['Service'],
  )
})
