import { join } from 'node:path'
import { Server, type ServerOptions } from '#/apiserver/server.ts'
import { ensureAdminKubeconfig } from '#/kubeadm/admin-kubeconfig.ts'
import { ensureClusterCertificates } from '#/kubeadm/certificates.ts'
import { nodeCrypto, serveHttp } from '#/platform/node.ts'

/** Time for running requests to finish when the cluster stops. */
const requestGraceMs = 1_000

const host = '127.0.0.1'

/** HTTPS listener on localhost with a kubeconfig, for clients outside the process. */
export class HttpsListener implements AsyncDisposable {
  /** Path of the kubeconfig file. */
  readonly kubeconfig: string
  readonly #server: Server

  private constructor(server: Server, kubeconfig: string) {
    this.#server = server
    this.kubeconfig = kubeconfig
  }

  /** Writes certificates and kubeconfig to the folder. */
  static async open(
    options: Pick<ServerOptions, 'platform' | 'handle'> & { folder: string },
  ): Promise<HttpsListener> {
    const { platform, handle, folder } = options
    const crypto = nodeCrypto()
    const pki = join(folder, 'pki')
    const { ca, apiServer } = await ensureClusterCertificates({
      platform,
      crypto,
      folder: pki,
      serverNames: [host],
    })
    const tls = { ...apiServer, clientCa: ca.cert }
    const server = await Server.start({ platform, serveHttp, host, port: 0, tls, handle })
    const path = join(folder, 'admin.conf')
    const url = `https://${host}:${server.address.port}`
    await ensureAdminKubeconfig({ platform, crypto, path, ca: ca, server: url })
    return new HttpsListener(server, path)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(requestGraceMs)
  }
}
