/** An API server with the complete handler chain, and some objects. */
import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { readAdmission } from '#/apiserver/admission.ts'
import { ApiServer } from '#/apiserver/api-server.ts'
import { Health } from '#/apiserver/health.ts'
import { Metrics } from '#/apiserver/metrics.ts'
import { observability } from '#/apiserver/observability.ts'
import type { Handle } from '#/apiserver/pipeline.ts'
import { nodePlatform, processUsage } from '#/platform/node.ts'
import type { Log, Platform } from '#/platform/platform.ts'
import { MemoryStore } from '#/store/memory.ts'
import { apiRequest } from '../api-request.ts'
import { signingKey } from '../keys.ts'
import { makeCertificates, type TestCertificates } from './certificates.ts'
import { objects } from './objects.ts'

export interface FuzzedServer {
  readonly platform: Platform
  readonly handle: Handle
  readonly certificates: TestCertificates
  readonly stop: () => Promise<void>
}

/** `onError` is called for each logged internal error, whatever the response. */
export async function startFuzzedServer(onError: (text: string) => void): Promise<FuzzedServer> {
  const platform = { ...nodePlatform({ log: { level: 'error', format: 'text' } }), log: logOf(onError) }
  const store = await MemoryStore.open({ platform })
  const certificates = await makeCertificates(platform)
  const server = await ApiServer.start({
    platform,
    store,
    build: { version: '0.0.0' },
    admission: await readAdmission(platform.files, {
      enable: ['NodeRestriction'],
      disable: ['ServiceAccount'],
    }),
    authentication: {
      certificates: { authorities: certificates.authority },
      frontProxy: { authorities: certificates.frontProxyAuthority, allowedNames: ['front-proxy-client'] },
      serviceAccounts: { url: 'https://issuer.example', signingKey },
      bootstrapTokens: true,
    },
    observability: observability({
      health: new Health({ clock: platform.clock, log: platform.log }),
      metrics: new Metrics({ usage: processUsage }),
    }),
  })
  const { handle } = server
  for (const [folder, object] of objects) {
    const { status } = await handle(apiRequest('POST', folder, { body: object }))
    assert.equal(status, 201, folder)
  }
  const stop = async (): Promise<void> => {
    await server.stop()
    await store[Symbol.asyncDispose]()
  }
  return { platform, handle, certificates, stop }
}

function logOf(onError: (text: string) => void): Log {
  const quiet = (): void => undefined
  const error = (message: string, fields?: object): void => onError(`${message} ${inspect(fields)}`)
  return { debug: quiet, info: quiet, warn: quiet, error, with: () => logOf(onError) }
}
