import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { MemoryStore } from '#/store/memory.ts'
import { EncryptingStore, ResourceCiphers, runEncryptionMaintenance } from '../encryption.ts'

function configuration(...names: readonly string[]): string {
  const keys = names.map(name => ({ name, secret: Buffer.alloc(32, name).toString('base64') }))
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['secrets'], providers: [{ aesgcm: { keys } }] }],
  })
}

const key = '/registry/secrets/default/a'

test('a valid changed configuration takes effect, and stale values are re-encrypted', async () => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('api')
  const stored = await simulation.run(MemoryStore.open({ platform }))
  const path = '/keys.yaml'
  const first = configuration('one')
  await simulation.run(platform.files.write(path, first))
  const connect = (): never => assert.fail('there is no KMS plugin')
  const encryption = await ResourceCiphers.open({ platform, connect, configuration: first })
  const store = new EncryptingStore({ store: stored, encryption, log: platform.log })
  await simulation.run(store.create(key, Buffer.from('hidden')))
  const stopping = new AbortController()
  const running = runEncryptionMaintenance(
    { platform, encryption, store, file: { path, configuration: first } },
    stopping.signal,
  )
  const check = async (content: string, prefix: string): Promise<void> => {
    await simulation.run(platform.files.write(path, content))
    await simulation.advance(15_000)
    const raw = Buffer.from((await simulation.run(stored.get(key)))!.value).toString('latin1')
    assert.equal(raw.slice(0, prefix.length), prefix)
    assert.equal(Buffer.from((await simulation.run(store.get(key)))!.value).toString(), 'hidden')
  }
  await check(first, 'k8s:enc:aesgcm:v1:one:')
  await check(configuration('two', 'one'), 'k8s:enc:aesgcm:v1:two:')
  await check('kind: Nonsense', 'k8s:enc:aesgcm:v1:two:')
  await check(configuration('two'), 'k8s:enc:aesgcm:v1:two:')
  stopping.abort()
  await simulation.run(running)
})
