/** Servers of others without a network: a function answers what is posted. */
import { parseJson, stringifyJson } from '#/api/json.ts'
import type { JsonValue } from '#/api/json-value.ts'
import { wholeBody } from '#/platform/http-client.ts'
import type { RemoteAccess } from '../plugin-context.ts'

/** Every kubeconfig file names a server of its path. Rejecting is a server that cannot be reached. */
export function fakeRemote(answer: (path: string, question: JsonValue) => Promise<JsonValue>): RemoteAccess {
  return {
    readRemote: async path => ({ url: `https://backend${path}` }),
    readCallers: async () => ({ users: new Map() }),
    connectHttp: () => ({
      request: async ({ path, body = Buffer.from('null') }) => {
        const bytes = Buffer.from(stringifyJson(await answer(path, parseJson(await wholeBody(body)))))
        return { status: 200, headers: {}, body: pieces(bytes), discard: () => undefined }
      },
      upgrade: () => Promise.reject(new Error('nobody upgrades')),
      close: () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    }),
  }
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes
}
