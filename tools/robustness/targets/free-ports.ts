import { createServer, type AddressInfo, type Server } from 'node:net'

/** All ports are bound before the first is released, so that they differ. */
export async function freePorts(address: string, count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const listen = (server: Server) => new Promise<void>(resolve => server.listen(0, address, resolve))
  await Promise.all(servers.map(listen))
  const ports = servers.map(server => (server.address() as AddressInfo).port)
  await Promise.all(servers.map(server => new Promise(resolve => server.close(resolve))))
  return ports
}
