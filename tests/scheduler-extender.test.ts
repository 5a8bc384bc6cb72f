/** Scheduler extenders over real sockets. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { connectHttp, nodePlatform } from '#/platform/node.ts'
import { Extenders } from '#/scheduler/extenders.ts'
import { podInfoOf } from '#/scheduler/pod-info.ts'
import { emptySnapshot } from '#/scheduler/snapshot.ts'
import { podOf, stored } from '#/scheduler/test-cluster.ts'

test('an extender is called over HTTP, and a timeout is a failure', async t => {
  const server = createServer((request, response) => {
    if (request.url === '/slow/filter') return
    request.resume()
    request.on('end', () => response.end(JSON.stringify({ NodeNames: ['a'] })))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const filtered = async (prefix: string, timeoutMs: number): Promise<unknown> => {
    const settings = {
      urlPrefix: `${origin}/${prefix}`,
      filterVerb: 'filter',
      weight: 1,
      timeoutMs,
      isNodeCacheCapable: true,
      managedResources: new Set<string>(),
      isIgnorable: false,
    }
    await using extenders = new Extenders({ platform, connectHttp, extenders: [settings] })
    const hooks = extenders.hooks({ snapshot: () => emptySnapshot })!
    const feasible = [{ name: 'a' }, { name: 'b' }]
    const left = await hooks.filter(podInfoOf(stored(podOf('p'))), {
      feasible,
      nodeToStatus: new Map(),
    } as never)
    return left.feasible.map(({ name }) => name)
  }
  assert.deepEqual(await filtered('quick/', 60_000), ['a'])
  await assert.rejects(filtered('slow', 200), /timed out after 200 ms/)
})
