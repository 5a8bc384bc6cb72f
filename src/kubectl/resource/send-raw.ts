import { resolve } from 'node:path'
import { readAll } from '#/base/read-all.ts'
import type { Factory } from '../factory.ts'

export interface RawOptions {
  readonly method: 'DELETE' | 'POST' | 'PUT'
  /** With a query, as in `--raw`. */
  readonly path: string
  /** The body, `-` for stdin; none if absent. */
  readonly filename?: string | undefined
}

const bodyBytesMax = 100_000_000

/** Sends a file to a path of the server, and prints the response. */
export async function sendRaw(factory: Factory, { method, path, filename }: RawOptions): Promise<void> {
  if (!path.startsWith('/'))
    throw new Error(`--raw must be a valid URL path: parse ${JSON.stringify(path)}: invalid URI for request`)
  const { machine } = factory
  const bytes = filename === undefined ? new Uint8Array() : await contentOf(factory, filename)
  const client = await factory.client()
  const [pathname = '', query = ''] = path.split('?')
  const body = { mediaType: 'application/json', bytes }
  const response = await client.raw({ method, path: pathname, query: new URLSearchParams(query), body })
  for await (const piece of response.bytes()) {
    machine.streams.stdout.write(piece)
    await machine.streams.stdout.drained()
  }
}

async function contentOf({ machine }: Factory, filename: string): Promise<Uint8Array> {
  if (filename === '-') return readAll(machine.streams.stdin.bytes(), bodyBytesMax)
  const path = resolve(machine.workingFolder, filename)
  if ((await machine.platform.files.stat(path)) === undefined) {
    throw new Error(`open ${filename}: no such file or directory`)
  }
  return machine.platform.files.read(path)
}
