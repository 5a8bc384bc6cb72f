import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { Health } from './health.ts'
import { PostStartHooks } from './post-start-hooks.ts'
import { startTestServer } from './test-server.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

test('every step of the start finishes its check', async t => {
  const silent = (): void => undefined
  const log = { debug: silent, info: silent, warn: silent, error: silent, with: () => log }
  const health = new Health({ ...platform, log })
  const startHooks = new PostStartHooks()
  for (const check of startHooks.checks({ hasFlowControl: true })) health.add(check)
  const answer = async (url: string): Promise<string> => {
    const [path = '', query = ''] = url.split('?')
    const { body } = (await health.answer(path, new URLSearchParams(query)))!
    return body?.type === 'value' ? Buffer.concat(body.bytes()).toString() : ''
  }
  const failing = async (): Promise<number> => (await answer('/livez')).match(/^\[-\]/gm)?.length ?? 0
  assert.equal(await failing(), 29)
  assert.equal(
    await answer('/readyz/poststarthook/rbac/bootstrap-roles'),
    'internal server error: not finished\n',
  )
  startHooks.finish('rbac/bootstrap-roles')
  assert.equal(await answer('/readyz/poststarthook/rbac/bootstrap-roles'), 'ok')
  assert.equal(await failing(), 28)
  await startTestServer(t, platform, { startHooks })
  assert.equal(await failing(), 0)
  const slis = health.slis.render().split('\n')
  const name = 'name="poststarthook/rbac/bootstrap-roles"'
  for (const line of [
    `kubernetes_healthcheck{${name},type="livez"} 1`,
    `kubernetes_healthchecks_total{${name},status="error",type="livez"} 1`,
    `kubernetes_healthchecks_total{${name},status="success",type="livez"} 2`,
  ])
    assert.ok(slis.includes(line), line)
})
