/** `k8ts version`: prints the versions of k8ts and of the Kubernetes API it serves. */
import { parseFlags } from '#/base/flags.ts'
import type { Command } from '#/command-line/command.ts'
import manifest from '../../package.json' with { type: 'json' }

/** The Kubernetes release of the served API. */
const kubernetesVersion = 'v1.36'

export const command: Command = {
  help: 'Usage: k8ts version\n\nShows the version of k8ts and of the Kubernetes API it serves.\n',
  async run(parameters, terminal) {
    parseFlags(parameters, {})
    terminal.write(`k8ts ${manifest.version} (Kubernetes ${kubernetesVersion})\n`)
    return 0
  },
}
