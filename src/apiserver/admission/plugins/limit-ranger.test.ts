import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitRanger } from './limit-ranger.ts'
import { container, pod, pods, startWith } from '../testdata/plugin-server.ts'

const ranges = '/api/v1/namespaces/default/limitranges'
const claims = '/api/v1/namespaces/default/persistentvolumeclaims'

function range(name: string, ...limits: readonly object[]): object {
  return { kind: 'LimitRange', apiVersion: 'v1', metadata: { name }, spec: { limits } }
}

function asking(requests: object | undefined, limits?: object): object {
  return container({ resources: { ...(requests && { requests }), ...(limits && { limits }) } })
}

function claim(name: string, storage: string): object {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } }
  return { kind: 'PersistentVolumeClaim', apiVersion: 'v1', metadata: { name }, spec }
}

test('LimitRanger: containers get default requests and limits, and an annotation lists them', async t => {
  const { admitted, given } = await startWith(t, limitRanger)
  await given(
    ranges,
    range('r', {
      type: 'Container',
      default: { cpu: '200m', memory: '1Gi' },
      defaultRequest: { cpu: '100m', memory: '512Mi' },
    }),
  )
  const both = await admitted(pods, pod('p', { initContainers: [container({ name: 'i' })] }))
  const resources = { limits: { cpu: '200m', memory: '1Gi' }, requests: { cpu: '100m', memory: '512Mi' } }
  assert.deepEqual(both.spec['containers']![0]!['resources'], resources)
  assert.deepEqual(both.spec['initContainers']![0]!['resources'], resources)
  assert.deepEqual(both['metadata']['annotations'], {
    'kubernetes.io/limit-ranger':
      'LimitRanger plugin set: cpu, memory request for container a; cpu, memory ' +
      'limit for container a; ' +
      'cpu, memory request for init container i; cpu, memory limit for init container i',
  })
  const some = await admitted(pods, pod('q', { containers: [asking({ cpu: '150m' }, { memory: '2Gi' })] }))
  assert.deepEqual(some.spec['containers']![0]!['resources'], {
    limits: { cpu: '200m', memory: '2Gi' },
    requests: { cpu: '150m', memory: '2Gi' },
  })
  const annotations = some['metadata']['annotations']
  assert.deepEqual(annotations, {
    'kubernetes.io/limit-ranger': 'LimitRanger plugin set: cpu limit for container a',
  })
})

test('LimitRanger: pods are unchanged without a LimitRange in their namespace', async t => {
  const { admitted, given } = await startWith(t, limitRanger)
  await given(
    '/api/v1/namespaces/kube-system/limitranges',
    range('r', { type: 'Container', default: { cpu: '1' } }),
  )
  const plain = await admitted(pods, pod('p'))
  assert.deepEqual(
    [plain.spec['containers']![0]!['resources'], plain['metadata']['annotations']],
    [{}, undefined],
  )
})

test('LimitRanger: enforces container bounds', async t => {
  const check = async (item: object, spec: object, expected: string): Promise<void> => {
    const { create, given } = await startWith(t, limitRanger)
    await given(ranges, range('r', item))
    assert.equal(
      await create(pods, pod('p', spec)),
      expected === 'ok' ? 'ok' : `403 pods "p" is forbidden: ${expected}`,
    )
  }
  const one = (requests: object | undefined, limits?: object): object => ({
    containers: [asking(requests, limits)],
  })
  const min = {
    type: 'Container',
    min: { cpu: '100m' },
    default: { cpu: '1' },
    defaultRequest: { cpu: '100m' },
  }
  await check(min, {}, 'ok')
  await check(min, one({ cpu: '50m' }), 'minimum cpu usage per Container is 100m, but request is 50m')
  await check(
    min,
    one({ cpu: '50m' }, { cpu: '60m' }),
    'minimum cpu usage per Container is 100m, but request is 50m',
  )
  const max = { type: 'Container', max: { memory: '1Gi' } }
  await check(max, {}, 'ok')
  await check(
    max,
    one(undefined, { memory: '2Gi' }),
    'maximum memory usage per Container is 1Gi, but limit is 2Gi',
  )
  const ratio = { type: 'Container', maxLimitRequestRatio: { cpu: '2' } }
  await check(ratio, one({ cpu: '1' }, { cpu: '2' }), 'ok')
  await check(
    ratio,
    one({ cpu: '1' }, { cpu: '3' }),
    'cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000',
  )
  await check(
    ratio,
    one({ cpu: '1' }),
    'cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0',
  )
  await check(
    ratio,
    {},
    'cpu max limit to request ratio per Container is 2, but no request is specified or request is 0',
  )
  const init = { initContainers: [container({ name: 'i', resources: { limits: { memory: '2Gi' } } })] }
  await check(max, init, 'maximum memory usage per Container is 1Gi, but limit is 2Gi')
  await check(
    { ...min, max: { cpu: '500m' }, default: { cpu: '500m' } },
    one({ cpu: '50m' }, { cpu: '1' }),
    '[minimum cpu usage per Container is 100m, but request is 50m, ' +
      'maximum cpu usage per Container is 500m, but limit is 1]',
  )
})

test('LimitRanger: enforces pod bounds on the sum of containers', async t => {
  const check = async (item: object, spec: object, expected: string): Promise<void> => {
    const { create, given } = await startWith(t, limitRanger)
    await given(ranges, range('r', { type: 'Pod', ...item }))
    assert.equal(
      await create(pods, pod('p', spec)),
      expected === 'ok' ? 'ok' : `403 pods "p" is forbidden: ${expected}`,
    )
  }
  const two = {
    containers: [
      asking({ cpu: '300m' }, { cpu: '300m' }),
      { ...asking({ cpu: '300m' }, { cpu: '300m' }), name: 'b' },
    ],
  }
  await check({ max: { cpu: '1' } }, two, 'ok')
  await check({ max: { cpu: '500m' } }, two, 'maximum cpu usage per Pod is 500m, but limit is 600m')
  await check({ min: { cpu: '1' } }, two, 'minimum cpu usage per Pod is 1, but request is 600m')
  await check({ max: { cpu: '1' } }, {}, 'maximum cpu usage per Pod is 1.  No limit is specified')
  await check({ min: { memory: '1' } }, {}, 'minimum memory usage per Pod is 1.  No request is specified')
  const starting = { ...two, initContainers: [{ ...asking({ cpu: '700m' }, { cpu: '700m' }), name: 'i' }] }
  await check({ max: { cpu: '700m' } }, starting, 'ok')
  await check({ max: { cpu: '650m' } }, starting, 'maximum cpu usage per Pod is 650m, but limit is 700m')
  const beside = {
    ...two,
    initContainers: [{ ...asking({ cpu: '1' }, { cpu: '1' }), name: 's', restartPolicy: 'Always' }],
  }
  await check({ max: { cpu: '1' } }, beside, 'maximum cpu usage per Pod is 1, but limit is 1600m')
  await check(
    { max: { cpu: '1' } },
    { ...two, resources: { limits: { cpu: '2' } } },
    'maximum cpu usage per Pod is 1, but limit is 2',
  )
})

test('LimitRanger: enforces PersistentVolumeClaim bounds on creation and resize', async t => {
  const { create, given } = await startWith(t, limitRanger)
  await given(
    ranges,
    range('r', { type: 'PersistentVolumeClaim', min: { storage: '1Gi' }, max: { storage: '2Gi' } }),
  )
  assert.equal(await create(claims, claim('a', '1Gi')), 'ok')
  assert.equal(
    await create(claims, claim('b', '3Gi')),
    '403 persistentvolumeclaims "b" is forbidden: ' +
      'maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi',
  )
  assert.equal(
    await create(claims, claim('b', '500Mi')),
    '403 persistentvolumeclaims "b" is forbidden: ' +
      'minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi',
  )
})

test('LimitRanger: checks an existing pod again only on resize', async t => {
  const { patch, given } = await startWith(t, limitRanger)
  await given(pods, pod('p', { containers: [asking({ cpu: '1' }, { cpu: '1' })] }))
  await given(ranges, range('r', { type: 'Container', max: { cpu: '500m' } }))
  assert.equal(await patch(`${pods}/p`, { metadata: { labels: { a: 'b' } } }), 'ok')
  const resized = { spec: { containers: [asking({ cpu: '2' }, { cpu: '2' })] } }
  assert.match(
    await patch(`${pods}/p/resize`, resized),
    /^403 .*maximum cpu usage per Container is 500m, but limit is 2$/u,
  )
})

test('LimitRanger: a changed LimitRange applies to later writes', async t => {
  const { create, given, request } = await startWith(t, limitRanger)
  await given(ranges, range('r', { type: 'Container', max: { cpu: '1' } }))
  const large = { containers: [asking({ cpu: '2' }, { cpu: '2' })] }
  assert.match(await create(pods, pod('p', large)), /^403/u)
  await request('DELETE', `${ranges}/r`)
  await request('GET', ranges)
  assert.equal(await create(pods, pod('p', large)), 'ok')
})
