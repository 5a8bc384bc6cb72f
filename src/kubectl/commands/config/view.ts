import { defineCommand } from '../../command.ts'
import { readConfig } from '../../config/change-config.ts'
import { configDocument } from '../../config/config-document.ts'
import { CommandUsageError } from '../../errors.ts'
import { boolFlag } from '../../flag-types.ts'
import { objectPrinterOf, printFlags } from '../../printers/object-printer.ts'

export const command = defineCommand({
  usage: 'view',
  description: `Shows the merged kubeconfig. Certificates, keys, tokens and passwords are not shown, unless
--raw is set.`,
  examples: `  # The merged kubeconfig
  kubectl config view

  # Only what the current context uses, with all credentials, in one file
  kubectl config view --minify --flatten --raw

  # The server of the current context
  kubectl config view --minify -o jsonpath='{.clusters[0].cluster.server}'`,
  flags: {
    ...printFlags,
    output: { ...printFlags.output, shownDefault: `'yaml'` },
    flatten: boolFlag('Include the content of the files that the kubeconfig refers to.'),
    merge: boolFlag('Merge all files.', { shownDefault: 'true' }),
    minify: boolFlag('Show only what the current context uses.'),
    raw: boolFlag('Show certificates, keys, tokens and passwords.'),
  },
  async run({ args, flags, factory, streams }) {
    if (args.length > 0) throw new CommandUsageError(`unexpected arguments: [${args.join(' ')}]`)
    if (flags.merge === false && !factory.globalFlags.kubeconfig) {
      throw new Error('if merge==false a precise file must be specified')
    }
    const { machine, globalFlags } = factory
    const printer = await objectPrinterOf({
      flags: { ...flags, output: flags.output || 'yaml' },
      machine,
      keepsFieldOrder: true,
    })
    const document = await configDocument(await readConfig(factory), {
      files: machine.platform.files,
      isMinified: flags.minify ?? false,
      isFlat: flags.flatten ?? false,
      isRaw: flags.raw ?? flags.flatten ?? false,
      ...(globalFlags.context && { context: globalFlags.context }),
    })
    streams.write(printer!(document))
  },
})
