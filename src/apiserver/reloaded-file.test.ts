import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import type { AuthorizerSettings } from './authz.ts'
import { startTestServer } from './test-server.ts'

const minuteMs = 60_000

test('a changed configuration file replaces the authorizers, and an invalid one does not', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('api')
  const cleanUps: (() => unknown)[] = []
  const t = { after: (action: () => unknown) => void cleanUps.push(action) } as never
  const path = '/authorization.yaml'
  const read = async (mode: string): Promise<readonly AuthorizerSettings[]> => {
    if (mode !== 'AlwaysAllow' && mode !== 'RBAC') throw new Error('invalid')
    return [{ mode }]
  }
  const reloads = { authorizers: { path, content: 'RBAC', read } }
  const server = await simulation.run(startTestServer(t, host, { reloads }))
  const ask = server.as({ username: 'eve', groups: ['system:authenticated'] })
  const isAllowed = async (): Promise<boolean> => {
    const { code } = await simulation.run(ask('GET', '/api/v1/namespaces/default/secrets'))
    return code === 200
  }
  const write = async (content: string): Promise<void> => {
    await simulation.run(host.files.write(path, content))
    await simulation.advance(minuteMs + 1_000)
  }
  await simulation.advance(minuteMs)
  assert.equal(await isAllowed(), false, 'the file is missing')
  await write('AlwaysAllow')
  assert.equal(await isAllowed(), true)
  await write('nonsense')
  assert.equal(await isAllowed(), true, 'an invalid file is ignored')
  await write('RBAC')
  assert.equal(await isAllowed(), false)
  for (const cleanUp of cleanUps) await simulation.run(Promise.resolve(cleanUp()))
})
