/** `k8ts get`: `kubectl get` with `--at`, for objects as they were at an earlier moment. */
import { resolve } from 'node:path'
import type { Command } from '#/command-line/command.ts'
import { momentForms, momentParameter, parseMoment } from '#/history/moment.ts'
import { runGetAt } from '#/kubectl/get-at.ts'
import {
  connectHttp1,
  environmentVariables,
  nodeIOStreams,
  serveLocalHttp,
  shortLivedPlatform,
} from '#/platform/short-lived.ts'
import { kubeconfigPath } from './client-connection.ts'

export const command: Command = {
  async run(parameters) {
    const platform = shortLivedPlatform({ log: { level: 'error', format: 'text' } })
    const variables = environmentVariables()
    const kubeconfig = await kubeconfigPath(platform.files, {})
    const machine = {
      platform,
      connectHttp: connectHttp1,
      serveLocalHttp,
      environment: { ...variables, ...(kubeconfig !== undefined && { KUBECONFIG: kubeconfig }) },
      workingFolder: resolve(),
      temporaryFolder: variables['TMPDIR'] || '/tmp',
      streams: nodeIOStreams(),
    }
    const parseAt = (text: string): string | undefined => {
      const moment = parseMoment(text, platform.clock.now())
      return moment && momentParameter(moment)
    }
    return runGetAt(parameters, { machine, parseAt, atForms: momentForms })
  },
}
