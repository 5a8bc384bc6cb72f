import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodePlatform } from '#/platform/node.ts'
import { Health } from './health.ts'

const { clock } = nodePlatform({ log: { level: 'error', format: 'text' } })

function start() {
  const warnings: unknown[] = []
  const silent = (): void => undefined
  const warn = (_: string, fields?: object): void => void warnings.push(fields)
  const log = { debug: silent, info: silent, warn, error: silent, with: () => log }
  const health = new Health({ clock, log, checkTimeoutMs: 30 })
  const check = async (url: string, status: number | undefined, text?: string): Promise<void> => {
    const [path = '', query = ''] = url.split('?')
    const answer = await health.answer(path, new URLSearchParams(query))
    assert.equal(answer?.status, status, url)
    if (answer?.body?.type !== 'value') return
    assert.equal(Buffer.concat(answer.body.bytes()).toString(), text)
    assert.equal(answer.body.mediaType, 'text/plain; charset=utf-8')
  }
  return { health, warnings, check }
}

test('a healthy server responds ok, with details if verbose', async () => {
  const { health, check } = start()
  health.add({ name: 'etcd', endpoints: ['healthz', 'readyz'], check: async () => undefined })
  for (const path of [
    '/healthz',
    '/livez',
    '/readyz',
    '/readyz/',
    '/livez/ping',
    '/readyz/etcd',
    '/readyz/shutdown',
  ]) {
    await check(path, 200, 'ok')
  }
  await check('/healthz?verbose', 200, '[+]ping ok\n[+]log ok\n[+]etcd ok\nhealthz check passed\n')
  await check('/livez?verbose=true', 200, '[+]ping ok\n[+]log ok\nlivez check passed\n')
  const ready = '[+]ping ok\n[+]log ok\n[+]etcd ok\n[+]shutdown ok\nreadyz check passed\n'
  await check('/readyz?verbose', 200, ready)
})

test('unknown health checks get 404', async () => {
  const { check } = start()
  for (const path of [
    '/',
    '/healthzz',
    '/livez/etcd',
    '/livez/shutdown',
    '/readyz/constructor',
    '/api/healthz',
  ]) {
    await check(path, undefined)
  }
})

test('a failing health check fails its endpoints and is logged', async () => {
  const { health, warnings, check } = start()
  const lost = (): Promise<never> => Promise.reject(new Error('no such host'))
  health.add({ name: 'etcd', endpoints: ['healthz', 'readyz'], check: lost })
  health.add({
    name: 'poststarthook/x',
    endpoints: ['readyz'],
    check: () => {
      throw new Error('not yet')
    },
  })
  await check('/livez', 200, 'ok')
  const failing = '[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\nhealthz check failed\n'
  await check('/healthz', 500, failing)
  assert.deepEqual(warnings.length, 1)
  await check('/readyz/etcd', 500, 'internal server error: no such host\n')
  await check('/readyz/poststarthook/x', 500, 'internal server error: not yet\n')
  await check('/readyz?exclude=etcd&exclude=poststarthook/x', 200, 'ok')
  const excluding =
    '[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n' +
    'warn: some health checks cannot be excluded: no matches for "a","b"\nhealthz check passed\n'
  await check('/healthz?verbose&exclude=etcd&exclude=b&exclude=a', 200, excluding)
})

test('a health check that times out has failed', async () => {
  const { health, check } = start()
  health.add({ name: 'etcd', endpoints: ['livez'], check: () => new Promise(() => undefined) })
  await check('/livez/etcd', 500, 'internal server error: timed out\n')
})

test('a stopping server is live and not ready', async () => {
  const { health, check } = start()
  health.stop()
  await check('/livez', 200, 'ok')
  const stopping = '[+]ping ok\n[+]log ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n'
  await check('/readyz', 500, stopping)
})
