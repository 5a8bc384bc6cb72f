/** `k8ts generate`: TypeScript types from CustomResourceDefinitions, and the reverse. */
import { UsageError } from '#/base/flags.ts'
import type { Command } from '#/command-line/command.ts'
import { isHelp } from '#/command-line/command-line.ts'
import { command as crd } from './generate/crd.ts'
import { command as types } from './generate/types.ts'

const generators: Readonly<Record<string, Command>> = { types, crd }

const help = `Usage: k8ts generate types (--crd PATH | --cluster) [--out DIR]
       k8ts generate crd FILE

Generates code for custom resources. Both commands write the same output for the same input, so that a check in CI can
compare it with committed files.

  types   TypeScript types and Resource values from CustomResourceDefinitions
  crd     CustomResourceDefinitions from definitions in TypeScript

Examples:
  k8ts generate types --crd crds/ --out src/api
  k8ts generate crd src/widgets.ts > manifests/crds.yaml

See k8ts generate types --help and k8ts generate crd --help.
`

export const command: Command = {
  help,
  async run([what = '', ...parameters], terminal) {
    const generator = Object.hasOwn(generators, what) ? generators[what] : undefined
    if (generator === undefined) throw new UsageError('usage: k8ts generate types|crd')
    if (isHelp(parameters[0])) {
      terminal.write(generator.help ?? '')
      return 0
    }
    return generator.run(parameters, terminal)
  },
}
