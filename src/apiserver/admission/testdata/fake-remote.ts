/** External servers without a network: a function answers the posted bodies. */
import { parseJson, stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { readWholeBody } from '#/platform/http-client.ts'
import type { KubeconfigAccess } from '../plugin-context.ts'

/**
 * The path of a kubeconfig file becomes the path of its server's URL. A rejected `answer` simulates an
 * unreachable server.
 */
export function fakeRemote(
  answer: (path: string, question: JsonValue) => Promise<JsonValue>,
): KubeconfigAccess {
  return {
    readKubeconfig: async path => ({ url: `https://backend${path}` }),
    readWebhookCredentials: async () => ({ users: new Map() }),
    connectHttp: () => ({
      request: async ({ path, body = Buffer.from('null') }) => {
        const bytes = Buffer.from(stringifyJson(await answer(path, parseJson(await readWholeBody(body)))))
        return { status: 200, headers: {}, body: pieces(bytes), discard: () => undefined }
      },
      upgrade: () => Promise.reject(new Error('upgrade is not supported')),
      close: () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    }),
  }
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes
}
