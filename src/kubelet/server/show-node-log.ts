/** Serves files in the machine's log directory. Symlinks cannot leave it. */
import { join } from 'node:path'
import { respondStream, respondText } from './responses.ts'
import type { ServerRequest } from './routes.ts'

const podLogsDir = '/var/log'

/** Read size. */
const pieceBytes = 256 * 1024

export async function showNodeLog(request: ServerRequest): Promise<void> {
  const { exchange, linux, platform, parameters } = request
  const path = parameters['path'] ?? ''
  try {
    await using held = await linux.files.openBeneath(podLogsDir, path)
    if (held.isFolder) {
      const names = await platform.files.list(held.path)
      return respondText(exchange, 200, names.map(name => `${join(path, name)}\n`).join(''))
    }
    const status = await platform.files.stat(held.path)
    await respondStream(
      exchange,
      'text/plain; charset=utf-8',
      readPieces(request, held.path, status?.sizeBytes ?? 0),
    )
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'ENOTDIR' && code !== 'ELOOP') throw error
    respondText(exchange, 404, '404 page not found\n')
  }
}

async function* readPieces(
  { linux }: ServerRequest,
  path: string,
  sizeBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let offset = 0; offset < sizeBytes;) {
    const piece = await linux.files.readRange(path, offset, Math.min(pieceBytes, sizeBytes - offset))
    if (piece.length === 0) return
    offset += piece.length
    yield piece
  }
}
