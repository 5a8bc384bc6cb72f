/** The bootstrap signer and the token cleaner. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signDetached } from '#/base/detached-signature.ts'
import type { Secret } from '#/api/generated/core/v1.ts'
import { configMaps, secrets } from '#/api/generated/core/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import { bootstrapSignerController, planSignatures } from './bootstrap-signer.ts'
import { startTestControlPlane, type TestControlPlane } from './test-control-plane.ts'
import { tokenCleanerController } from './token-cleaner.ts'
import { stored } from './test-stored.ts'

function tokenOf(id: string, values: Readonly<Record<string, string>> = {}, name = id): Stored<Secret> {
  const texts = {
    'token-id': id,
    'token-secret': `secret-${id}`,
    'usage-bootstrap-signing': 'true',
    ...values,
  }
  return stored({
    metadata: { namespace: 'kube-system', name: `bootstrap-token-${name}` },
    type: 'bootstrap.kubernetes.io/token',
    data: Object.fromEntries(
      Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    ),
  })
}

test('every valid signing token has a signature, others have none', () => {
  const nowMs = Date.UTC(2026, 5, 1)
  const check = (
    data: Readonly<Record<string, string>>,
    tokens: readonly Stored<Secret>[],
    expected: readonly string[] | undefined,
    untilMs = Infinity,
  ): void => {
    const plan = planSignatures({ metadata: {}, data }, tokens, nowMs)
    assert.deepEqual(plan && Object.keys(plan.data).sort(), expected)
    if (plan) assert.equal(plan.untilMs, untilMs)
  }
  const info = { kubeconfig: 'C' }
  check(
    info,
    [tokenOf('aaaaaa'), tokenOf('bbbbbb')],
    ['jws-kubeconfig-aaaaaa', 'jws-kubeconfig-bbbbbb', 'kubeconfig'],
  )
  check({ ...info, 'jws-kubeconfig-cccccc': 'old', 'more': 'x' }, [], ['kubeconfig', 'more'])
  check({ more: 'x' }, [tokenOf('aaaaaa')], undefined)
  check({}, [tokenOf('aaaaaa')], undefined)
  const nothing = ['kubeconfig']
  check(info, [tokenOf('aaaaaa', { 'usage-bootstrap-signing': 'false' })], nothing)
  check(info, [tokenOf('aaaaaa', { 'usage-bootstrap-signing': '' })], nothing)
  check(info, [tokenOf('aaaaaa', { 'token-secret': '' })], nothing)
  check(info, [tokenOf('aaaaaa', { 'token-id': '' })], nothing)
  check(info, [tokenOf('aaaaaa', {}, 'bbbbbb')], nothing)
  check(info, [tokenOf('AAAAAA')], nothing)
  check(info, [tokenOf('aaaaaa', { expiration: 'soon' })], nothing)
  check(info, [tokenOf('aaaaaa', { expiration: '2026-06-01T00:00:00Z' })], nothing)
  const later = '2026-06-01T00:00:09Z'
  check(
    info,
    [tokenOf('aaaaaa', { expiration: later })],
    ['jws-kubeconfig-aaaaaa', ...nothing],
    nowMs + 9_000,
  )
})

async function start(
  t: Parameters<typeof startTestControlPlane>[0],
  controllers = [bootstrapSignerController, tokenCleanerController],
): Promise<TestControlPlane> {
  const plane = await startTestControlPlane(t, controllers)
  await plane.create(configMaps, {
    metadata: { namespace: 'kube-public', name: 'cluster-info' },
    data: { kubeconfig: 'apiVersion: v1' },
  })
  return plane
}

async function infoOf(plane: TestControlPlane): Promise<Readonly<Record<string, string>> | undefined> {
  const map = (await plane.list(configMaps, 'kube-public')).find(
    ({ metadata }) => metadata.name === 'cluster-info',
  )
  return map?.data
}

test('cluster-info is signed with all bootstrap tokens, and again when it changes', async t => {
  const plane = await start(t)
  await plane.create(secrets, tokenOf('abcdef'))
  const shared = { keyId: 'abcdef', secret: 'secret-abcdef' }
  assert.deepEqual(await infoOf(plane), {
    'kubeconfig': 'apiVersion: v1',
    'jws-kubeconfig-abcdef': signDetached('apiVersion: v1', shared),
  })
  await plane.change(configMaps, 'kube-public/cluster-info', map => ({
    ...map,
    data: { ...map.data, kubeconfig: 'new' },
  }))
  assert.equal((await infoOf(plane))?.['jws-kubeconfig-abcdef'], signDetached('new', shared))
  await plane.run(plane.client.delete(secrets, { namespace: 'kube-system', name: 'bootstrap-token-abcdef' }))
  await plane.settle()
  assert.deepEqual(await infoOf(plane), { kubeconfig: 'new' })
})

test('an expired bootstrap token that still exists signs nothing', async t => {
  const plane = await start(t, [bootstrapSignerController])
  await plane.create(
    secrets,
    tokenOf('abcdef', { expiration: formatTime(plane.platform.clock.now() + 60_000) }),
  )
  assert.equal(Object.keys((await infoOf(plane)) ?? {}).length, 2)
  await plane.advance(60_000)
  assert.deepEqual(Object.keys((await infoOf(plane)) ?? {}), ['kubeconfig'])
})

test('an expired bootstrap token and its signature are deleted, other secrets stay', async t => {
  const plane = await start(t)
  const expiration = formatTime(plane.platform.clock.now() + 600_000)
  await plane.create(secrets, tokenOf('abcdef', { expiration }))
  await plane.create(secrets, tokenOf('ffffff'))
  await plane.create(secrets, { ...tokenOf('bbbbbb', { expiration }), type: 'Opaque' })
  const elsewhere = tokenOf('cccccc', { expiration })
  await plane.create(secrets, { ...elsewhere, metadata: { ...elsewhere.metadata, namespace: 'default' } })
  const names = async (): Promise<readonly string[]> => {
    return (await plane.list(secrets)).map(({ metadata }) => metadata.name.slice(-6) ?? '').sort()
  }
  await plane.advance(590_000)
  assert.deepEqual(await names(), ['abcdef', 'bbbbbb', 'cccccc', 'ffffff'])
  assert.equal(Object.keys((await infoOf(plane)) ?? {}).length, 3)
  await plane.advance(12_000)
  assert.deepEqual(await names(), ['bbbbbb', 'cccccc', 'ffffff'])
  assert.deepEqual(Object.keys((await infoOf(plane)) ?? {}).sort(), ['jws-kubeconfig-ffffff', 'kubeconfig'])
})
