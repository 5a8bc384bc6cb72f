import { parseJson } from '#/api/text/json.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { defineCommand } from '../../command.ts'
import { CommandUsageError } from '../../errors.ts'
import { boolFlag, stringFlag } from '../../flag-types.ts'
import { requireResources } from '../../resource/find-resources.ts'
import { lastAppliedOf } from '../../resource/last-applied.ts'
import { filenameFlags, filesOf, selectorFlag } from '../../write-flags.ts'

export const command = defineCommand({
  usage: 'view-last-applied (TYPE [NAME | -l label] | TYPE/NAME | -f FILENAME)',
  description: `Shows the configuration that was applied last, which "kubectl apply" stores in an
annotation.`,
  examples: `  # The configuration of a deployment as YAML
  kubectl apply view-last-applied deployment/web

  # As JSON, for the object that a file names
  kubectl apply view-last-applied -f deploy.yaml -o json`,
  flags: {
    ...filenameFlags('Files, folders or URLs that name the objects.'),
    all: boolFlag('Select all objects of the given types in the namespace.'),
    output: stringFlag('Output format: yaml or json.', { shorthand: 'o', shownDefault: `'yaml'` }),
    selector: selectorFlag,
  },
  async run({ args, flags, factory, streams }) {
    const infos = await requireResources(factory, {
      ...filesOf(flags),
      args,
      all: flags.all,
      labelSelector: flags.selector,
      latest: true,
    })
    const configurations = infos.map(({ object = {}, name, source }) => {
      const text = lastAppliedOf(object)
      if (text !== '' || source === undefined) return text
      const problem = `no last-applied-configuration annotation found on resource: ${name}`
      throw new Error(`error when ${problem}\n ${JSON.stringify(source)}`)
    })
    const format = flags.output ?? 'yaml'
    if (format !== 'yaml' && format !== 'json') {
      throw new CommandUsageError(
        `Unexpected -o output mode: ${format}, the flag 'output' must be one of yaml|json`,
      )
    }
    // As upstream, an object that was named by an argument may lack the annotation.
    for (const text of configurations.filter(each => each !== '')) {
      const value = parseJson(text)
      streams.write(format === 'json' ? `${JSON.stringify(value, undefined, 2)}\n` : stringifyYaml(value))
    }
  },
})
