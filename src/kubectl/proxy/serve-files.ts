import { extname, join } from 'node:path'
import type { Files, FileStatus } from '#/platform/platform.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { answerText, escapeHtml } from './answer.ts'

const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.gif': 'image/gif',
  '.htm': 'text/html; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.jpeg': 'image/jpeg',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.mjs': 'text/javascript; charset=utf-8',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webp': 'image/webp',
  '.xml': 'text/xml; charset=utf-8',
}

const pieceBytes = 256 * 1024

export interface ServeFileOptions {
  readonly files: Files
  /** Absolute. */
  readonly folder: string
  /** Normalized path of the file below the folder, beginning with a slash. */
  readonly path: string
}

/** Answers with a file, the `index.html` of a folder, or a list of its files. */
export async function serveFile(
  exchange: HttpExchange,
  { files, folder, path }: ServeFileOptions,
): Promise<void> {
  if (path.endsWith('/index.html')) return moved(exchange, './')
  const absolute = join(folder, path).replace(/(.)\/$/, '$1')
  const status = path.includes('\0') ? undefined : await files.stat(absolute)
  if (status === undefined) return answerText(exchange, 404, '404 page not found')
  const name = path.slice(path.replace(/\/$/, '').lastIndexOf('/') + 1)
  if (status.isFolder && !path.endsWith('/')) return moved(exchange, `${encodeURIComponent(name)}/`)
  if (!status.isFolder && path.endsWith('/'))
    return moved(exchange, `../${encodeURIComponent(name.slice(0, -1))}`)
  if (!status.isFolder) return sendFile(exchange, { files, path: absolute, status })
  const index = join(absolute, 'index.html')
  const indexStatus = await files.stat(index)
  if (indexStatus !== undefined) return sendFile(exchange, { files, path: index, status: indexStatus })
  await listFolder(exchange, files, absolute)
}

async function sendFile(
  exchange: HttpExchange,
  { files, path, status }: { readonly files: Files; readonly path: string; readonly status: FileStatus },
): Promise<void> {
  if (!status.isFile) return answerText(exchange, 403, 'Forbidden')
  const modified = new Date(status.modifiedMs).toUTCString()
  if (exchange.headers['if-modified-since'] === modified) {
    exchange.respond(304, { 'last-modified': modified })
    return exchange.end()
  }
  exchange.respond(200, {
    'content-type': mediaTypes[extname(path).toLowerCase()] ?? 'application/octet-stream',
    'content-length': String(status.sizeBytes),
    'last-modified': modified,
  })
  if (exchange.method === 'HEAD') return exchange.end()
  await using file = await files.openRead(path)
  for (let at = 0; at < status.sizeBytes && !exchange.closed;) {
    const piece = file.read(at, Math.min(pieceBytes, status.sizeBytes - at))
    if (piece.length === 0) return exchange.abort()
    at += piece.length
    if (!exchange.write([piece])) await exchange.drained()
  }
  exchange.end()
}

async function listFolder(exchange: HttpExchange, files: Files, folder: string): Promise<void> {
  const links: string[] = []
  for (const name of await files.list(folder)) {
    const shown = (await files.stat(join(folder, name)))?.isFolder ? `${name}/` : name
    links.push(
      `<a href="${encodeURI(shown).replaceAll('?', '%3F').replaceAll('#', '%23')}">${escapeHtml(shown)}</a>\n`,
    )
  }
  exchange.respond(200, { 'content-type': 'text/html; charset=utf-8' })
  const head = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n'
  exchange.end(exchange.method === 'HEAD' ? [] : [Buffer.from(`${head}<pre>\n${links.join('')}</pre>\n`)])
}

/** Relative to the path of the request. */
function moved(exchange: HttpExchange, location: string): void {
  exchange.respond(301, { location, 'content-length': '0' })
  exchange.end()
}
