import { clientOf } from '#/client/client.ts'
import { openConnection } from '#/client/connection.ts'
import type { HttpTransport } from '#/client/http.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { connectHttp, nodePlatform, type Platform } from '#/platform/node.ts'
import { ConfigMapClient } from '#/simulation/recording/config-map-client.ts'

/** k8ts' own client, over HTTP. */
export class K8tsClient extends ConfigMapClient implements AsyncDisposable {
  readonly #transport: HttpTransport

  private constructor(name: string, platform: Platform, transport: HttpTransport) {
    super({ name, platform, client: clientOf({ platform, transport, userAgent: `robustness-${name}` }) })
    this.#transport = transport
  }

  /** Connects on the first request. */
  static async open(name: string, kubeconfig: string): Promise<K8tsClient> {
    // Failures of connections are expected.
    const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
    const sources = { environment: {}, workingFolder: '/', explicitPath: kubeconfig }
    const settings = settingsOf(await loadKubeconfig(platform, sources))!
    return new K8tsClient(name, platform, await openConnection({ platform, connect: connectHttp, settings }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#transport[Symbol.asyncDispose]()
  }
}
