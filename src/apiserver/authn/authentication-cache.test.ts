import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { AuthenticationCache } from './authentication-cache.ts'

const { clock } = nodePlatform({ log: { level: 'error', format: 'text' } })

test('the authentication cache is bounded and calls again after eviction', async () => {
  const cache = new AuthenticationCache({ clock, sizeMax: 10 })
  let asked = 0
  const get = async (key: string): Promise<void> => {
    await cache.get(key, async () => {
      asked++
      return { result: { failure: key }, keepMs: 60_000 }
    })
  }
  for (let index = 0; index < 1_000; index++) await get(`key-${index}`)
  assert.deepEqual([cache.size, asked], [10, 1_000])
  await get('key-999')
  assert.equal(asked, 1_000)
  await get('key-0')
  assert.deepEqual([cache.size, asked], [10, 1_001])
})

test('failed authentication calls are not cached and fail all concurrent waiters', async () => {
  const cache = new AuthenticationCache({ clock, sizeMax: 10 })
  let asked = 0
  const ask = async (): Promise<never> => {
    asked++
    throw new Error('no answer')
  }
  const answers = await Promise.allSettled([cache.get('a', ask), cache.get('a', ask)])
  assert.deepEqual([answers.map(({ status }) => status), asked, cache.size], [['rejected', 'rejected'], 1, 0])
  assert.deepEqual(await cache.get('a', async () => ({ result: { failure: 'x' }, keepMs: 0 })), {
    failure: 'x',
  })
  assert.equal(cache.size, 0)
})
