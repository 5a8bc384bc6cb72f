/**
 * A registry that serves the images of archives, read-only, with the pull part of the OCI distribution API.
 * As the mirror of every other registry it makes `imagePullPolicy: Always` work without a network, and
 * answers 404 for everything that is in no archive. Blobs are streamed from the archives.
 */
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { readImageCatalog, type ArchivedBlob, type ImageCatalog } from './image-catalog.ts'

export class Registry implements AsyncDisposable {
  readonly url: string
  readonly #server: Server

  private constructor(url: string, server: Server) {
    this.url = url
    this.#server = server
  }

  static async start(archives: readonly string[], address = '127.0.0.1'): Promise<Registry> {
    const catalog = await readImageCatalog(archives)
    const server = createServer((request, response) => {
      const answer = answerPull(catalog, { method: request.method ?? '', url: request.url ?? '' })
      void send(response, answer, request.method === 'HEAD')
    })
    server.listen(0, address)
    await once(server, 'listening')
    return new Registry(`http://${address}:${(server.address() as AddressInfo).port}`, server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.#server.closeAllConnections()
    await closed
  }
}

export interface PullAnswer {
  readonly status: number
  readonly contentType: string
  readonly digest?: string
  readonly body: Uint8Array | ArchivedBlob
}

/** With `?ns=HOST` containerd says of which registry this is the mirror. */
export function answerPull(
  catalog: ImageCatalog,
  { method, url }: { readonly method: string; readonly url: string },
): PullAnswer {
  const { pathname, searchParams } = new URL(url, 'http://registry')
  if (method !== 'GET' && method !== 'HEAD') return refusal(405, 'UNSUPPORTED')
  if (/^\/v2\/?$/.test(pathname)) return json(200, {})
  const [, name = '', kind, reference = ''] =
    /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(decodeURIComponent(pathname)) ?? []
  if (kind === undefined) return refusal(404, 'NAME_UNKNOWN')
  if (kind === 'blobs') {
    const blob = catalog.blobs.get(reference)
    if (blob === undefined) return refusal(404, 'BLOB_UNKNOWN')
    return { status: 200, contentType: 'application/octet-stream', digest: reference, body: blob }
  }
  const host = searchParams.get('ns') ?? 'docker.io'
  const digest = reference.includes(':') ? reference : catalog.references.get(`${host}/${name}:${reference}`)
  const manifest = digest === undefined ? undefined : catalog.manifests.get(digest)
  if (digest === undefined || manifest === undefined) return refusal(404, 'MANIFEST_UNKNOWN')
  return { status: 200, contentType: manifest.mediaType, digest, body: manifest.content }
}

function refusal(status: number, code: string): PullAnswer {
  return json(status, { errors: [{ code, message: 'no image archive has it' }] })
}

function json(status: number, value: unknown): PullAnswer {
  return { status, contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) }
}

async function send(response: ServerResponse, answer: PullAnswer, isHead: boolean): Promise<void> {
  const { status, contentType, digest, body } = answer
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': body instanceof Uint8Array ? body.length : body.sizeBytes,
    ...(digest !== undefined && { 'docker-content-digest': digest }),
  })
  if (isHead || body instanceof Uint8Array || body.sizeBytes === 0) {
    response.end(isHead || !(body instanceof Uint8Array) ? undefined : body)
    return
  }
  const { archive, offset, sizeBytes } = body
  try {
    await pipeline(createReadStream(archive, { start: offset, end: offset + sizeBytes - 1 }), response)
  } catch {
    // The client went away, or the archive did. The connection is closed, and the client sees a short body.
  }
}
