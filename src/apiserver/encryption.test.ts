import assert from 'node:assert/strict'
import { createCipheriv, createHmac } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import type { Log } from '#/platform/platform.ts'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import { storeConformance } from '#/store/store.conformance.ts'
import { StoreError, type Store } from '#/store/store.ts'
import {
  DecryptionError,
  EncryptingStore,
  ResourceCiphers,
  ensureEncryptionConfiguration,
} from './encryption.ts'
import { StoredForm, TestKmsPlugin } from './encryption/test-kms-plugin.ts'
import { ApiServer } from './api-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const quiet = (): void => undefined
const silent: Log = { debug: quiet, info: quiet, warn: quiet, error: quiet, with: () => silent }

const secretOf = (fill: number, length = 32): string => Buffer.alloc(length, fill).toString('base64')

/** Parses a provider and its key names: `aesgcm a`, `aescbc a b`, `identity`, `kms k`. */
function providerOf(text: string): object {
  const [type = '', ...names] = text.split(' ')
  if (type === 'identity') return { identity: {} }
  if (type === 'kms') return { kms: { apiVersion: 'v2', name: names[0], endpoint: 'unix:///kms.sock' } }
  return { [type]: { keys: names.map(name => ({ name, secret: secretOf(name.charCodeAt(0)) })) } }
}

function configurationOf(resources: string, ...providers: string[]): string {
  return fileOf([{ resources: resources.split(','), providers: providers.map(providerOf) }])
}

function fileOf(resources: readonly object[]): string {
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources,
  })
}

const noService = new TestKmsPlugin()

async function encrypt(store: Store, configuration: string, service = noService): Promise<EncryptingStore> {
  const encryption = await ResourceCiphers.open({ platform, connect: service.connect, configuration })
  return new EncryptingStore({ store, encryption, log: silent })
}

const open = (): Promise<MemoryStore> => MemoryStore.open({ platform })

for (const providers of ['aesgcm a', 'kms a']) {
  // The conformance suite uses keys outside of resources, so everything is encrypted here.
  storeConformance(
    `encrypted with ${providers}`,
    async () => {
      const { connect } = new TestKmsPlugin()
      const encryption = await ResourceCiphers.open({
        platform,
        connect,
        configuration: configurationOf('*.*', providers),
      })
      const cipher = encryption.cipherFor('/registry/secrets/default/a')
      return new EncryptingStore({
        store: await open(),
        encryption: { cipherFor: () => cipher },
        log: silent,
      })
    },
    { modelRuns: 3 },
  )
}

const key = '/registry/secrets/default/web'
const value = Buffer.from('{"kind":"Secret","data":{"password":"aHVudGVyMg=="}}')
const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('latin1')

test('stored values have the provider prefix and no plain text', async () => {
  for (const [providers, prefix] of [
    ['aesgcm a', 'k8s:enc:aesgcm:v1:a:'],
    ['aescbc a b', 'k8s:enc:aescbc:v1:a:'],
    ['secretbox a', 'k8s:enc:secretbox:v1:a:'],
    ['kms outside', 'k8s:enc:kms:v2:outside:'],
  ] as const) {
    const raw = await open()
    const store = await encrypt(raw, configurationOf('secrets', providers))
    await store.create(key, value)
    const stored = text((await raw.get(key))?.value)
    assert.ok(stored.startsWith(prefix), stored)
    assert.doesNotMatch(stored, /Secret|password|hunter|aHVudGVy/)
    // Another server with the same keys can read the value.
    const other = await encrypt(raw, configurationOf('secrets', providers))
    assert.equal(text((await other.get(key))?.value), text(value))
    assert.equal(other.hasStale, false)
  }
})

test('a secretbox value stored by an earlier version is readable', async () => {
  const box =
    'gQW/U4Lu4tIXrgfb1kazjB62K/yTCrOPqd3Na4DYt6GW6kdNRU5+ALzBALUUDK+CxyTVTE99lpJGFYu3mEo6' +
    'mBGb4HaS7UVa3ek/yeILMF7MfonVt4SOkIepvQM='
  const raw = await open()
  await raw.create(key, Buffer.concat([Buffer.from('k8s:enc:secretbox:v1:a:'), Buffer.from(box, 'base64')]))
  const store = await encrypt(raw, configurationOf('secrets', 'secretbox a'))
  assert.equal(text((await store.get(key))?.value), text(value))
})

test('values are encrypted with the provider of their resource', async () => {
  const check = async (names: string, encrypted: string[], plain: string[]): Promise<void> => {
    const raw = await open()
    const store = await encrypt(raw, configurationOf(names, 'aesgcm a'))
    for (const each of [...encrypted, ...plain]) await store.create(`/registry/${each}`, value)
    for (const each of encrypted)
      assert.match(text((await raw.get(`/registry/${each}`))?.value), /^k8s:enc/, each)
    for (const each of plain) assert.match(text((await raw.get(`/registry/${each}`))?.value), /^\{/, each)
  }
  await check('secrets', ['secrets/a/b'], ['configmaps/a/b', 'secretsmore/a/b', 'example.com/secrets/a/b'])
  await check('secrets,configmaps', ['secrets/a/b', 'configmaps/a/b'], ['pods/a/b'])
  await check(
    '*.',
    ['secrets/a/b', 'services/specs/a/b', 'services/endpoints/a/b', 'minions/a', 'events/a/b'],
    ['deployments/a/b', 'leases/a/b'],
  )
  await check('*.apps', ['deployments/a/b', 'statefulsets/a/b'], ['pods/a/b', 'ingress/a/b'])
  await check(
    'pandas.bears.example',
    ['bears.example/pandas/a/b'],
    ['bears.example/others/a/b', 'pandas/a/b'],
  )
  await check(
    '*.*',
    ['pods/a/b', 'bears.example/pandas/a/b', 'apiregistration.k8s.io/apiservices/v1.'],
    ['ranges/servicenodeports', 'masterleases/1.2.3.4'],
  )
})

test('the first matching entry of EncryptionConfiguration applies', async () => {
  const raw = await open()
  const store = await encrypt(
    raw,
    fileOf([
      { resources: ['events'], providers: [{ identity: {} }] },
      { resources: ['*.*'], providers: [providerOf('aesgcm a')] },
    ]),
  )
  await store.create('/registry/events/a/b', value)
  assert.equal(text((await raw.get('/registry/events/a/b'))?.value), text(value))
})

test('written values are returned by the watch as the same bytes', async () => {
  const store = await encrypt(await open(), configurationOf('secrets', 'aesgcm a'))
  const watch = store.watch({ prefix: '/registry/', afterRevision: 0 })
  await store.create(key, value)
  await store.create('/registry/pods/a/b', value)
  assert.equal((await store.get(key))?.value, value)
  assert.equal((await store.list({ prefix: '/registry/secrets/' })).entries[0]?.value, value)
  for await (const { events } of watch) {
    for (const event of events) assert.equal('value' in event && event.value, value)
    break
  }
})

test('key rotation keeps all values readable', async () => {
  const raw = await open()
  const old = await encrypt(raw, configurationOf('secrets', 'aescbc a', 'identity'))
  await raw.create('/registry/secrets/default/plain', Buffer.from('{"plain":true}'))
  await raw.create('/registry/pods/default/p', Buffer.from('{}'))
  await old.create(key, value)
  const both = await encrypt(raw, configurationOf('secrets', 'aesgcm b', 'aescbc a', 'identity'))
  const { entries } = await both.list({ prefix: '/registry/secrets/' })
  assert.deepEqual(
    entries.map(each => text(each.value)),
    ['{"plain":true}', text(value)],
  )
  assert.equal(both.hasStale, true)
  const before = (await raw.get('/registry/pods/default/p'))?.revision
  assert.deepEqual(await both.reencryptStale(), { rewritten: 2, unreadable: 0 })
  assert.equal(both.hasStale, false)
  assert.deepEqual(await both.reencryptStale(), { rewritten: 0, unreadable: 0 })
  assert.equal((await raw.get('/registry/pods/default/p'))?.revision, before)
  const onlyNew = await encrypt(raw, configurationOf('secrets', 'aesgcm b'))
  assert.equal(text((await onlyNew.get(key))?.value), text(value))
  assert.equal(text((await onlyNew.get('/registry/secrets/default/plain'))?.value), '{"plain":true}')
  await assert.rejects(old.get(key), DecryptionError)
})

test('all keys with the same name are tried', async () => {
  const raw = await open()
  const keys = (fill: number) => ({ aesgcm: { keys: [{ name: 'a', secret: secretOf(fill, 16) }] } })
  const withKeys = (...fills: number[]): string =>
    fileOf([{ resources: ['secrets'], providers: fills.map(keys) }])
  await (await encrypt(raw, withKeys(1))).create(key, value)
  assert.equal(text((await (await encrypt(raw, withKeys(2, 1))).get(key))?.value), text(value))
})

test('an undecryptable value is reported and does not hide others', async () => {
  const raw = await open()
  await (await encrypt(raw, configurationOf('secrets', 'aesgcm a'))).create(key, value)
  await raw.create('/registry/pods/default/p', Buffer.from('{}'))
  for (const providers of [
    ['aesgcm b'],
    ['aescbc a'],
    ['secretbox a'],
    ['identity'],
    ['identity', 'aesgcm b'],
  ]) {
    const store = await encrypt(raw, configurationOf('secrets', ...providers))
    await assert.rejects(store.get(key), DecryptionError)
    await assert.rejects(store.update(key, value, { expectedRevision: 99 }), DecryptionError)
    const { entries } = await store.list({ prefix: '/registry/' })
    assert.deepEqual(
      entries.map(each => text(each.value)),
      ['{}', 'k8s:enc:unreadable'],
    )
    assert.deepEqual(await store.reencryptStale(), { rewritten: 0, unreadable: 1 })
  }
})

test('altered, moved and foreign values fail authentication', async () => {
  for (const providers of ['aesgcm a', 'secretbox a', 'kms a']) {
    const raw = await open()
    await (await encrypt(raw, configurationOf('secrets', providers))).create(key, value)
    const stored = (await raw.get(key))!
    const put = async (name: string, bytes: Uint8Array): Promise<string> => {
      const storeKey = `/registry/secrets/default/${name}`
      await raw.create(storeKey, bytes)
      const store = await encrypt(raw, configurationOf('secrets', providers))
      return store.get(storeKey).then(
        () => 'read',
        error => (error instanceof DecryptionError ? 'refused' : String(error)),
      )
    }
    for (let index = 25; index < stored.value.length; index += 3) {
      const changed = Buffer.from(stored.value)
      changed[index]! ^= 4
      assert.equal(await put(`changed-${index}`, changed), 'refused', `${providers} ${index}`)
    }
    assert.equal(await put('short', stored.value.subarray(0, 30)), 'refused')
    assert.equal(await put('plain', value), 'refused')
    if (providers !== 'secretbox a') assert.equal(await put('moved', stored.value), 'refused')
  }
})

test('values encrypted by kube-apiserver can be read', async () => {
  const raw = await open()
  const secret = Buffer.alloc(32, 'a'.charCodeAt(0))
  const gcm = (secretKey: Uint8Array, nonce: Uint8Array): Buffer => {
    const cipher = createCipheriv('aes-256-gcm', secretKey, nonce).setAAD(Buffer.from(key))
    return Buffer.concat([nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()])
  }
  const read = async (stored: Uint8Array, providers: string): Promise<string> => {
    const { entries } = await raw.list({ prefix: '/registry/' })
    for (const entry of entries) await raw.delete(entry.key, { expectedRevision: entry.revision })
    await raw.create(key, stored)
    return text((await (await encrypt(raw, configurationOf('secrets', providers))).get(key))?.value)
  }
  const nonce = Buffer.alloc(12, 5)
  const simple = Buffer.concat([Buffer.from('k8s:enc:aesgcm:v1:a:'), gcm(secret, nonce)])
  assert.equal(await read(simple, 'aesgcm a'), text(value))
  const seed = Buffer.alloc(32, 9)
  const info = Buffer.alloc(32, 8)
  const derived = createHmac('sha256', seed).update(info).update(Uint8Array.of(1)).digest()
  const encryptedDek = seed.map(byte => byte ^ '1'.charCodeAt(0))
  const annotations = { 'a.example.com': Buffer.from('x') }
  const form = (type: number, data: Uint8Array): Buffer =>
    Buffer.concat([
      Buffer.from('k8s:enc:kms:v2:a:'),
      StoredForm.encode({ data, key: 'key-1', source: encryptedDek, annotations, type }),
    ])
  assert.equal(await read(form(1, Buffer.concat([info, gcm(derived, nonce)])), 'kms a'), text(value))
  assert.equal(await read(form(0, gcm(seed, nonce)), 'kms a'), text(value))
  await assert.rejects(read(form(7, gcm(seed, nonce)), 'kms a'), DecryptionError)
})

async function startWithKeyService(t: TestContext) {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('api')
  const service = new TestKmsPlugin()
  const stopping = new AbortController()
  t.after(() => stopping.abort())
  const configuration = configurationOf('secrets', 'kms a')
  const { connect } = service
  const encryption = await simulation.run(ResourceCiphers.open({ platform: host, connect, configuration }))
  void encryption.run(stopping.signal)
  const raw = await MemoryStore.open({ platform: host })
  return {
    simulation,
    service,
    encryption,
    raw,
    store: new EncryptingStore({ store: raw, encryption, log: silent }),
  }
}

test('the KMS plugin is called once per seed, and again after key rotation', async t => {
  const { simulation, service, store, raw } = await startWithKeyService(t)
  for (let index = 0; index < 20; index++) await simulation.run(store.create(`${key}${index}`, value))
  assert.deepEqual(service.calls, ['unix:/kms.sock Status', 'unix:/kms.sock Encrypt'])
  service.keyId = 'key-2'
  await simulation.advance(61_000)
  assert.deepEqual(service.calls.slice(2), ['unix:/kms.sock Status', 'unix:/kms.sock Encrypt'])
  assert.deepEqual(await simulation.run(store.reencryptStale()), { rewritten: 20, unreadable: 0 })
  const names = (await raw.list({ prefix: '/registry/' })).entries.map(entry => {
    return StoredForm.decode(entry.value.subarray('k8s:enc:kms:v2:a:'.length)).key
  })
  assert.deepEqual([...new Set(names)], ['key-2'])
})

test('without the KMS plugin values stay readable, and writes fail after the seed expires', async t => {
  const { simulation, service, encryption, store, raw } = await startWithKeyService(t)
  const [check] = encryption.healthChecks
  await simulation.run(store.create(key, value))
  await check?.check()
  service.isUp = false
  await simulation.advance(100_000)
  assert.throws(() => check?.check(), /nobody is there/)
  await simulation.run(store.create(`${key}2`, value))
  await simulation.advance(200_000)
  await assert.rejects(simulation.run(store.create(`${key}3`, value)), /unavailable for too long/)
  assert.equal(text((await store.get(key))?.value), text(value))
  service.isUp = true
  await simulation.advance(20_000)
  await check?.check()
  await simulation.run(store.create(`${key}3`, value))
  // A server that has not unwrapped the seed yet cannot read while the key service is down, but can later.
  const other = await encrypt(raw, configurationOf('secrets', 'kms a'), service)
  service.isUp = false
  await assert.rejects(other.list({ prefix: '/registry/' }), error => {
    return error instanceof StoreError && error.reason === 'unavailable'
  })
  service.isUp = true
  assert.equal((await other.list({ prefix: '/registry/' })).entries.length, 3)
})

test('startup waits for the KMS plugin', async () => {
  const simulation = new Simulation({ seed: 1 })
  const service = new TestKmsPlugin()
  service.healthz = 'still starting'
  const { connect } = service
  const configuration = configurationOf('secrets', 'kms a')
  const opening = ResourceCiphers.open({ platform: simulation.host('api'), connect, configuration })
  await simulation.advance(5_000)
  service.healthz = 'ok'
  await simulation.run(opening)
})

test('EncryptionConfiguration can be reloaded, and an invalid one is ignored', async () => {
  const raw = await open()
  const { connect } = noService
  const encryption = await ResourceCiphers.open({
    platform,
    connect,
    configuration: configurationOf('secrets', 'identity'),
  })
  const store = new EncryptingStore({ store: raw, encryption, log: silent })
  await encryption.change(configurationOf('secrets', 'aesgcm a'))
  await store.create(key, value)
  await assert.rejects(encryption.change('{}'), /apiVersion/)
  await store.create(`${key}2`, value)
  const { entries } = await raw.list({ prefix: '/registry/' })
  for (const entry of entries) assert.match(text(entry.value), /^k8s:enc:aesgcm:v1:a:/)
})

test('the default encryption key is created once with private file mode', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('api')
  const first = await simulation.run(ensureEncryptionConfiguration(host, '/encryption.yaml'))
  assert.equal(await simulation.run(ensureEncryptionConfiguration(host, '/encryption.yaml')), first)
  assert.equal((await simulation.run(host.files.stat('/encryption.yaml')))?.mode, 0o600)
  const raw = await open()
  await (await encrypt(raw, first)).create(key, value)
  assert.match(text((await raw.get(key))?.value), /^k8s:enc:aesgcm:v1:key1:/)
})

test('an API server serves other secrets if one cannot be decrypted', async t => {
  const raw = await open()
  const configuration = configurationOf('secrets', 'aesgcm a', 'identity')
  const url = '/api/v1/namespaces/default/secrets'
  const secret = (name: string) => ({ metadata: { name }, stringData: { password: 'hunter2' } })
  const first = await serve(t, await encrypt(raw, configuration))
  assert.equal((await first.send('POST', url, secret('good'))).status, 201)
  assert.equal((await first.send('POST', url, secret('bad'))).status, 201)
  await first.stop()
  for (const { key: stored, value: bytes } of (await raw.list({ prefix: '/registry/' })).entries) {
    assert.doesNotMatch(text(bytes), /hunter2|aHVudGVyMg/, stored)
  }
  const bad = (await raw.get('/registry/secrets/default/bad'))!
  const damaged = Buffer.from(bad.value)
  damaged[damaged.length - 1]! ^= 1
  await raw.update(bad.key, damaged, { expectedRevision: bad.revision })
  const second = await serve(t, await encrypt(raw, configuration))
  const good = await second.send('GET', `${url}/good`)
  assert.deepEqual([good.status, good.body.data], [200, { password: 'aHVudGVyMg==' }])
  assert.equal((await second.send('GET', `${url}/bad`)).status, 500)
  assert.equal((await second.send('GET', url)).status, 500)
  assert.equal((await second.send('GET', '/api/v1/namespaces')).status, 200)
})

async function serve(t: TestContext, store: Store) {
  const quietly = { ...platform, log: silent }
  const server = await ApiServer.start({ platform: quietly, store, build: { version: '0.0.0' } })
  t.after(() => server.stop())
  const send = async (method: string, path: string, body?: object) => {
    const response = await server.handle({
      method,
      path,
      query: new URLSearchParams(),
      headers: {},
      body: { bytes: async () => Buffer.from(body ? JSON.stringify(body) : '') },
      signal: new AbortController().signal,
      peer: { address: '127.0.0.1', user: { username: 'admin', groups: ['system:masters'] } },
    })
    const bytes = response.body?.type === 'value' ? Buffer.concat(response.body.bytes()) : Buffer.from('{}')
    return { status: response.status, body: JSON.parse(bytes.toString()) as { readonly data?: object } }
  }
  return { send, stop: () => server.stop() }
}
