import { isObject } from '#/api/text/json-object.ts'
import { parseJson } from '#/api/text/json.ts'
import { readAll } from '#/base/read-all.ts'
import type { Client } from '#/client/client.ts'
import { clientGitVersion } from '../client-version.ts'

const responseBytesMax = 1_000_000

/** Throws Error if the server has another version than this client, apart from the build: `--match-server-version`. */
export async function matchServerVersion(client: Client): Promise<void> {
  const response = await client.raw({ method: 'GET', path: '/version' })
  const version = parseJson(await readAll(response.bytes(), responseBytesMax))
  const server = isObject(version) ? String(version['gitVersion']) : ''
  if (withoutBuild(server) === withoutBuild(clientGitVersion)) return
  throw new Error(`server version (${server}) differs from client version (${clientGitVersion})`)
}

function withoutBuild(version: string): string {
  return version.replace(/\+.*$/, '')
}
