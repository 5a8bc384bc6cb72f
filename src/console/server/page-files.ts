import { extname, join } from 'node:path'
import type { Files, Platform } from '#/platform/platform.ts'
import type { HttpExchange } from '#/platform/http.ts'
import { dataHeaders, pageHeaders, refuse } from './answers.ts'

export interface PageFilesOptions {
  readonly platform: Pick<Platform, 'files' | 'random' | 'log'>
  readonly preparePage: () => Promise<string>
}

const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** Names of bundled files end with a hash of their content. No other name leads to a file. */
const bundledFile = /^\/([\w-]+-[A-Z0-9]{8}\.(?:css|js|svg|woff2))$/

export function isPageFile(path: string): boolean {
  return path === '/' || bundledFile.test(path)
}

/** In the page, stands for the nonce of its style elements. */
const noncePlaceholder = 'STYLE_NONCE'

/** Sends the page or a file of it. */
export async function servePageFile(
  exchange: HttpExchange,
  { platform, preparePage }: PageFilesOptions,
): Promise<void> {
  const { method, target } = exchange
  if (method !== 'GET' && method !== 'HEAD') {
    return refuse(exchange, { reason: 'MethodNotAllowed', message: 'the page can only be read' })
  }
  const folder = await preparePage()
  const [path = ''] = target.split('?')
  const name = bundledFile.exec(path)?.[1]
  const content = await readIfExists(platform.files, join(folder, name ?? 'index.html'))
  if (content === undefined && name !== undefined) {
    return refuse(exchange, { reason: 'NotFound', message: `${name} is not a file of this version` })
  }
  if (content === undefined) {
    return refuse(exchange, {
      reason: 'Unavailable',
      message: 'the page has not been built: run tools/setup',
    })
  }
  if (name === undefined) return sendPage(exchange, content, platform)
  send(exchange, content, {
    ...dataHeaders,
    'cache-control': 'private, max-age=31536000, immutable',
    'content-type': mediaTypes[extname(name)] ?? 'application/octet-stream',
  })
}

function sendPage(exchange: HttpExchange, content: Uint8Array, { random }: Pick<Platform, 'random'>): void {
  const nonce = Buffer.from(random.bytes('console-style-nonce', 16)).toString('base64url')
  const page = Buffer.from(content).toString().replaceAll(noncePlaceholder, nonce)
  send(exchange, Buffer.from(page), { ...pageHeaders(nonce), 'content-type': 'text/html; charset=utf-8' })
}

function send(exchange: HttpExchange, content: Uint8Array, headers: ReturnType<typeof pageHeaders>): void {
  exchange.respond(200, { ...headers, 'content-length': String(content.length) })
  exchange.end(exchange.method === 'HEAD' ? [] : [content])
}

async function readIfExists(files: Files, path: string): Promise<Uint8Array | undefined> {
  try {
    return await files.read(path)
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === 'ENOENT') return undefined
    throw error
  }
}
