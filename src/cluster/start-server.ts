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
  ['EADDRINUSE', 'the port is taken; choose another with --port'],
  ['EADDRNOTAVAIL', 'this machine does not have the address; choose another with --bind'],
  ['EACCES', 'that needs more rights; choose another port with --port'],
])
