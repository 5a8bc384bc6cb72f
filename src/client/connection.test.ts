import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import { inClusterConfig, type ConnectionSettings } from './connection.ts'

test('the in-cluster configuration is read from files and environment', async () => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('a')
  const write = async (path: string, text: string): Promise<void> => {
    await simulation.run(platform.files.makeFolder(folder))
    await simulation.run(platform.files.write(path, Buffer.from(text)))
  }
  const folder = '/var/run/secrets/kubernetes.io/serviceaccount'
  const settings = (environment: Record<string, string>): Promise<ConnectionSettings | undefined> => {
    return simulation.run(inClusterConfig(platform, environment))
  }
  const environment = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
  assert.equal(await settings(environment), undefined)
  await write(`${folder}/token`, 't')
  assert.equal(await settings({}), undefined)
  const user = { token: { file: `${folder}/token` } }
  assert.deepEqual(await settings(environment), {
    server: 'https://[fd00::1]:443',
    namespace: 'default',
    user,
  })
  await write(`${folder}/ca.crt`, 'ca')
  await write(`${folder}/namespace`, 'mine\n')
  assert.deepEqual(await settings({ ...environment, KUBERNETES_SERVICE_HOST: '10.0.0.1' }), {
    server: 'https://10.0.0.1:443',
    namespace: 'mine',
    user,
    ca: { file: `${folder}/ca.crt` },
  })
  assert.equal((await settings({ ...environment, POD_NAMESPACE: 'other' }))?.namespace, 'other')
})
