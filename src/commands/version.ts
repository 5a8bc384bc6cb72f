/** `k8ts version`: prints the versions of k8ts and of the Kubernetes API it serves. */
import { parseArgs } from 'node:util'
import type { Command } from '#/command-line/command.ts'
import manifest from '../../package.json' with { type: 'json' }

/** The Kubernetes release of the served API. */
const kubernetesVersion = 'v1.36'

export const command: Command = {
  help: 'Usage: k8ts version\n\nShows the version of k8ts and of the Kubernetes API it serves.\n',
  async run(parameters, terminal) {
    parseArgs({ args: [...parameters], options: {} })
    terminal.write(`k8ts ${manifest.version} (Kubernetes ${kubernetesVersion})\n`)
    return 0
  },
}
