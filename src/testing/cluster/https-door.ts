import { join } from 'node:path'
import { Server, type ServerOptions } from '#/apiserver/server.ts'
import { ensureAdminKubeconfig } from '#/kubeadm/admin-kubeconfig.ts'
import { ensureClusterCertificates } from '#/kubeadm/certificates.ts'
import { nodeCrypto, serveHttp } from '#/platform/node.ts'

/** Requests that are running when the cluster stops have so long to finish. */
const requestGraceMs = 1_000

const host = '127.0.0.1'

/** The way in for clients outside the process: HTTPS on this machine, and a kubeconfig that leads there. */
export class HttpsDoor implements AsyncDisposable {
  /** The path of the file. */
  readonly kubeconfig: string
  readonly #server: Server

  private constructor(server: Server, kubeconfig: string) {
    this.#server = server
    this.kubeconfig = kubeconfig
  }

  /** Certificates and kubeconfig are written to the folder. */
  static async open(
    options: Pick<ServerOptions, 'platform' | 'handle'> & { folder: string },
  ): Promise<HttpsDoor> {
    const { platform, handle, folder } = options
    const crypto = nodeCrypto()
    const pki = join(folder, 'pki')
    const { authority, apiServer } = await ensureClusterCertificates({
      platform,
      crypto,
      folder: pki,
      serverNames: [host],
    })
    const tls = { ...apiServer, clientCa: authority.cert }
    const server = await Server.start({ platform, serveHttp, host, port: 0, tls, handle })
    const path = join(folder, 'admin.conf')
    const url = `https://${host}:${server.address.port}`
    await ensureAdminKubeconfig({ platform, crypto, path, authority, server: url })
    return new HttpsDoor(server, path)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(requestGraceMs)
  }
}
