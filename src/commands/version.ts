/** `k8ts version`: which k8ts this is, and which Kubernetes it serves. */
import { parseArgs } from 'node:util'
import type { Command } from '#/command-line/command.ts'
import manifest from '../../package.json' with { type: 'json' }

/** The release of Kubernetes whose API is served. */
const kubernetesVersion = 'v1.36'

export const command: Command = {
  help: 'Usage: k8ts version\n\nShows the version of k8ts and of the Kubernetes API it serves.\n',
  async run(parameters, terminal) {
    parseArgs({ args: [...parameters], options: {} })
    terminal.write(`k8ts ${manifest.version} (Kubernetes ${kubernetesVersion})\n`)
    return 0
  },
}
