/** `k8ts kubectl`: the command-line client for any Kubernetes cluster. */
import { resolve } from 'node:path'
import type { Command } from '#/command-line/command.ts'
import { runKubectl } from '#/kubectl/kubectl.ts'
import {
  connectHttp1,
  environmentVariables,
  nodeIOStreams,
  serveLocalHttp,
  shortLivedPlatform,
} from '#/platform/short-lived.ts'

export const command: Command = {
  async run(parameters) {
    const environment = environmentVariables()
    return runKubectl(parameters, {
      platform: shortLivedPlatform({ log: { level: 'error', format: 'text' } }),
      connectHttp: connectHttp1,
      serveLocalHttp,
      environment,
      workingFolder: resolve(),
      temporaryFolder: environment['TMPDIR'] || '/tmp',
      streams: nodeIOStreams(),
    })
  },
}
