/** Port 0 selects a free port, but the same one when the cluster is started again, since its clients know it. */
import type { Server } from '#/apiserver/server.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import type { Platform } from '#/platform/platform.ts'

export interface ListenAgain {
  readonly platform: Platform
  /** Path of the administrator's kubeconfig, which has the port of before. */
  readonly kubeconfig: string
  readonly port: number
  readonly listen: (port: number) => Promise<Server>
}

export async function listenAgain({
  platform,
  kubeconfig,
  port: given,
  listen,
}: ListenAgain): Promise<Server> {
  const port = given === 0 ? await portOf(platform, kubeconfig) : undefined
  if (port === undefined) return listen(given)
  try {
    return await listen(port)
  } catch (error) {
    platform.log.info('The port of before is in use, another one is chosen', { port, error })
    return listen(0)
  }
}

async function portOf(platform: Platform, explicitPath: string): Promise<number | undefined> {
  if ((await platform.files.stat(explicitPath)) === undefined) return undefined
  try {
    const kubeconfig = await loadKubeconfig(platform, { explicitPath, environment: {}, workingFolder: '/' })
    const { server = '' } = settingsOf(kubeconfig) ?? {}
    return Number(new URL(server).port) || undefined
  } catch {
    // It is written again after the start.
    return undefined
  }
}
