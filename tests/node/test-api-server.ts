/** An API server in the test process, in real time, for components that run on a real node. */
import type { TestContext } from 'node:test'
import { ApiServer } from '#/apiserver/api-server.ts'
import { clientOf, type Client } from '#/client/client.ts'
import { inProcessTransport } from '#/client/in-process.ts'
import { nodePlatform, type Platform } from '#/platform/node.ts'
import { MemoryStore } from '#/store/memory.ts'

export interface TestApiServer {
  readonly platform: Platform
  /** Has administrator rights. */
  readonly client: Client
  readonly clientAs: (username: string, groups?: readonly string[]) => Client
}

export async function startTestApiServer(t: Pick<TestContext, 'after'>): Promise<TestApiServer> {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const store = await MemoryStore.open({ platform })
  const server = await ApiServer.start({
    platform,
    store,
    build: { version: '0.0.0' },
    serviceCidrs: ['10.96.0.0/16', 'fd00:96::/112'],
  })
  t.after(async () => {
    await server.stop()
    await store[Symbol.asyncDispose]()
  })
  const clientAs = (username: string, groups: readonly string[] = []): Client => {
    const user = { username, groups: [...groups, 'system:authenticated'] }
    return clientOf({
      platform,
      transport: inProcessTransport({ handle: server.handle, user }),
      userAgent: username,
    })
  }
  return { platform, client: clientAs('kubernetes-admin', ['system:masters']), clientAs }
}
