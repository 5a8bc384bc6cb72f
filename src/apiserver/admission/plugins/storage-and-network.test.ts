import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultIngressClass } from './default-ingress-class.ts'
import { defaultStorageClass } from './default-storage-class.ts'
import { denyServiceExternalIps } from './deny-service-external-ips.ts'
import { persistentVolumeClaimResize } from './persistent-volume-claim-resize.ts'
import { storageObjectInUseProtection } from './storage-object-in-use-protection.ts'
import { startWith } from '../testdata/plugin-server.ts'

const claims = '/api/v1/namespaces/default/persistentvolumeclaims'
const storageClasses = '/apis/storage.k8s.io/v1/storageclasses'
const isDefault = { annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } }

function claim(name: string, spec: object = {}, metadata: object = {}): object {
  return {
    kind: 'PersistentVolumeClaim',
    apiVersion: 'v1',
    metadata: { name, ...metadata },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  }
}

function storageClass(name: string, metadata: object = {}, fields: object = {}): object {
  return {
    kind: 'StorageClass',
    apiVersion: 'storage.k8s.io/v1',
    metadata: { name, ...metadata },
    provisioner: 'x',
    ...fields,
  }
}

test('DefaultStorageClass: a claim without a class gets the newest default class', async t => {
  const { given, admitted } = await startWith(t, defaultStorageClass)
  const classOf = async (name: string, spec: object = {}, metadata: object = {}): Promise<unknown> =>
    (await admitted(claims, claim(name, spec, metadata)))['spec']['storageClassName']
  assert.equal(await classOf('a'), undefined)
  await given(storageClasses, storageClass('slow'))
  assert.equal(await classOf('b'), undefined)
  await given(
    storageClasses,
    storageClass('beta', { annotations: { 'storageclass.beta.kubernetes.io/is-default-class': 'true' } }),
  )
  assert.equal(await classOf('c'), 'beta')
  await given(storageClasses, storageClass('alpha', isDefault))
  // Created in the same second, so the first by name is the default.
  assert.equal(await classOf('d'), 'alpha')
  assert.equal(await classOf('e', { storageClassName: '' }), '')
  assert.equal(await classOf('f', { storageClassName: 'slow' }), 'slow')
  assert.equal(
    await classOf('g', {}, { annotations: { 'volume.beta.kubernetes.io/storage-class': 'slow' } }),
    undefined,
  )
})

test('StorageObjectInUseProtection: new volumes and claims get the protection finalizer', async t => {
  const { admitted } = await startWith(t, storageObjectInUseProtection)
  const check = async (url: string, object: object, expected: readonly string[]): Promise<void> => {
    assert.deepEqual((await admitted(url, object))['metadata']['finalizers'], expected)
  }
  await check(claims, claim('a'), ['kubernetes.io/pvc-protection'])
  await check(claims, claim('b', {}, { finalizers: ['kubernetes.io/pvc-protection'] }), [
    'kubernetes.io/pvc-protection',
  ])
  await check(
    '/api/v1/persistentvolumes',
    {
      kind: 'PersistentVolume',
      apiVersion: 'v1',
      metadata: { name: 'v', finalizers: ['example.com/x'] },
      spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } },
    },
    ['example.com/x', 'kubernetes.io/pv-protection'],
  )
  await check(
    '/apis/storage.k8s.io/v1/volumeattributesclasses',
    {
      kind: 'VolumeAttributesClass',
      apiVersion: 'storage.k8s.io/v1',
      metadata: {
        name: 'c',
      },
      driverName: 'x',
      parameters: { a: 'b' },
    },
    ['kubernetes.io/vac-protection'],
  )
})

test('PersistentVolumeClaimResize: requires a bound claim and allowVolumeExpansion', async t => {
  const server = await startWith(t, persistentVolumeClaimResize)
  await server.given(storageClasses, storageClass('elastic', {}, { allowVolumeExpansion: true }))
  await server.given(storageClasses, storageClass('rigid'))
  const grow = (name: string, storage: string): Promise<string> =>
    server.patch(`${claims}/${name}`, { spec: { resources: { requests: { storage } } } })
  const bound = async (name: string, storageClassName?: string): Promise<void> => {
    await server.given(
      claims,
      claim(name, { volumeName: 'v', ...(storageClassName && { storageClassName }) }),
    )
    assert.equal(await server.patch(`${claims}/${name}/status`, { status: { phase: 'Bound' } }), 'ok')
  }
  await bound('a', 'elastic')
  assert.equal(await grow('a', '2Gi'), 'ok')
  const refusal = (name: string): string =>
    `403 persistentvolumeclaims "${name}" is forbidden: only dynamically provisioned pvc can be ` +
    'resized and the storageclass that provisions the pvc must support resize'
  await bound('b', 'rigid')
  assert.equal(await grow('b', '2Gi'), refusal('b'))
  await bound('c', 'missing')
  assert.equal(await grow('c', '2Gi'), refusal('c'))
  assert.equal(await server.patch(`${claims}/c`, { metadata: { labels: { a: 'b' } } }), 'ok')
})

const ingresses = '/apis/networking.k8s.io/v1/namespaces/default/ingresses'

test('DefaultIngressClass: an ingress without a class gets the default class', async t => {
  const { given, admitted } = await startWith(t, defaultIngressClass)
  const classOf = async (name: string, spec: object = {}, annotations: object = {}): Promise<unknown> =>
    (
      await admitted(ingresses, {
        kind: 'Ingress',
        apiVersion: 'networking.k8s.io/v1',
        metadata: { name, annotations },
        spec: { defaultBackend: { service: { name: 's', port: { number: 80 } } }, ...spec },
      })
    )['spec']['ingressClassName']
  assert.equal(await classOf('a'), undefined)
  await given('/apis/networking.k8s.io/v1/ingressclasses', {
    kind: 'IngressClass',
    apiVersion: 'networking.k8s.io/v1',
    spec: { controller: 'example.com/c' },
    metadata: { name: 'main', annotations: { 'ingressclass.kubernetes.io/is-default-class': 'true' } },
  })
  assert.equal(await classOf('b'), 'main')
  assert.equal(await classOf('c', { ingressClassName: 'other' }), 'other')
  assert.equal(await classOf('d', {}, { 'kubernetes.io/ingress.class': 'old' }), undefined)
})

test('DenyServiceExternalIPs: externalIPs can be removed, not added', async t => {
  // Enables the plugin after services with external IPs exist.
  let isOn = false
  const denial = denyServiceExternalIps()
  const server = await startWith(t, () => ({
    ...denial,
    validate: request => (isOn ? denial.validate?.(request) : undefined),
  }))
  const services = '/api/v1/namespaces/default/services'
  const service = (name: string, externalIPs?: readonly string[]): object => ({
    kind: 'Service',
    apiVersion: 'v1',
    metadata: { name },
    spec: {
      ports: [{ port: 80 }],
      ...(externalIPs && { externalIPs }),
    },
  })
  const refusal = (name: string): string =>
    `403 services "${name}" is forbidden: Use of external IPs is denied by admission control`
  await server.given(services, service('old', ['192.0.2.1', '192.0.2.2']))
  isOn = true
  assert.equal(await server.create(services, service('a')), 'ok')
  assert.equal(await server.create(services, service('b', ['192.0.2.1'])), refusal('b'))
  assert.equal(await server.patch(`${services}/old`, { spec: { externalIPs: ['192.0.2.2'] } }), 'ok')
  assert.equal(
    await server.patch(`${services}/old`, { spec: { externalIPs: ['192.0.2.2', '192.0.2.3'] } }),
    refusal('old'),
  )
  assert.equal(await server.patch(`${services}/a`, { spec: { externalIPs: ['192.0.2.1'] } }), refusal('a'))
})
