import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { ApiResponse, RequestContext } from './request.ts'
import { requestTimeout } from './stages.ts'

test("a request times out after its own or the server's timeout", async () => {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('a')
  const { clock } = platform
  const stage = requestTimeout(platform, 10_000)
  const ask = async (query: string, takesMs: number): Promise<string> => {
    const startedMs = clock.monotonicMs()
    const info = { isResource: false, path: '/version', verb: 'get' }
    const context = { info, request: { query: new URLSearchParams(query) } } as unknown as RequestContext
    const work = async (): Promise<ApiResponse> => {
      await clock.sleep(takesMs)
      return { status: 200 }
    }
    try {
      const { status } = await stage(context, work)
      return `${status} ${clock.monotonicMs() - startedMs}`
    } catch (error) {
      assert.ok(isApiError(error))
      return `${error.code} ${clock.monotonicMs() - startedMs} ${error.message}`
    }
  }
  const late = 'Timeout: request did not complete within the allotted timeout'
  const wrong = 'invalid timeout specified in the request URL - time: invalid duration "soon"'
  const script = async (): Promise<void> => {
    assert.equal(await ask('', 400), '200 400')
    assert.equal(await ask('', 60_000), `504 10000 ${late}`)
    assert.equal(await ask('timeout=1s', 400), '200 400')
    assert.equal(await ask('timeout=1s', 60_000), `504 1000 ${late}`)
    assert.equal(await ask('timeout=3m', 60_000), `504 10000 ${late}`)
    assert.equal(await ask('timeout=0s', 400), '200 400')
    assert.equal(await ask('timeout=soon', 400), `400 0 ${wrong}`)
  }
  await simulation.run(script())
})
