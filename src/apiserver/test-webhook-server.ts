/** External servers without a network: a function answers the posted bodies. */
import { parseJson, stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { readWholeBody, type HttpConnect } from '#/platform/http-client.ts'
import type { Platform } from '#/platform/platform.ts'

/** Connects to a server for which `answer` responds. A rejected `answer` simulates an unreachable server. */
export function fakeConnect(answer: (path: string, question: JsonValue) => Promise<JsonValue>): HttpConnect {
  return () => ({
    request: async ({ path, body = Buffer.from('null') }) => {
      const bytes = Buffer.from(stringifyJson(await answer(path, parseJson(await readWholeBody(body)))))
      return { status: 200, headers: {}, body: pieces(bytes), discard: () => undefined }
    },
    upgrade: () => Promise.reject(new Error('upgrade is not supported')),
    close: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  })
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes
}

/** Adds a kubeconfig file to the platform; its path is also the path of its server's URL. */
export function withKubeconfig(platform: Platform, path: string): Platform {
  const content = Buffer.from(`
    current-context: c
    contexts: [{name: c, context: {cluster: c}}]
    clusters: [{name: c, cluster: {server: 'https://backend${path}'}}]`)
  // A simulated platform is an instance of a class, whose getters a spread would lose.
  const { clock, random, network, files, processes, log } = platform
  const read: typeof files.read = async file => (file === path ? content : files.read(file))
  return { clock, random, network, processes, log, files: { ...files, read } }
}
