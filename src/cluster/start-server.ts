/** Starts the API server's listener; errors name the cause and a solution. */
import { Server, type ServerOptions } from '#/apiserver/server.ts'

export async function startServer(options: ServerOptions): Promise<Server> {
  try {
    return await Server.start(options)
  } catch (cause) {
    const { host, port } = options
    throw new Error(`cannot listen at ${host} port ${port}: ${whyNotListening(cause)}`, { cause })
  }
}

function whyNotListening(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return listenErrors.get(code) ?? message
}

const listenErrors: ReadonlyMap<string, string> = new Map([
  ['EADDRINUSE', 'port already in use; set --port'],
  ['EADDRNOTAVAIL', 'address not available on this machine; set --bind'],
  ['EACCES', 'permission denied; set --port'],
])
