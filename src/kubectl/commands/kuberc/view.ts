import { defineCommand } from '../../command.ts'
import type { Factory } from '../../factory.ts'
import { globalFlags } from '../../global-flags.ts'
import { kubercDocument, kubercOf, readKuberc, writeKuberc } from '../../kuberc/kuberc-document.ts'
import type { Preference } from '../../kuberc/preference.ts'
import { objectPrinterOf, printFlags } from '../../printers/object-printer.ts'

export const command = defineCommand({
  usage: 'view',
  description: `Shows the kuberc file. Without one, and at a terminal, it offers to write a file with
recommended preferences.`,
  examples: `  # In YAML
  kubectl kuberc view

  # In JSON
  kubectl kuberc view --output json

  # Another file
  kubectl kuberc view --kuberc preferences.yaml`,
  flags: {
    ...printFlags,
    kuberc: globalFlags.kuberc,
    output: { ...printFlags.output, shownDefault: `'yaml'` },
  },
  async run({ flags, factory, streams }) {
    const { path, isExplicit } = kubercOf(factory, flags.kuberc)
    const preference = await readKuberc(factory, path)
    if (preference === undefined) {
      if (isExplicit) throw new Error(`kuberc file not found at ${path}`)
      return offerRecommended(factory, path)
    }
    const printer = await objectPrinterOf({
      flags: { ...flags, output: flags.output || 'yaml' },
      machine: factory.machine,
      keepsFieldOrder: true,
    })
    streams.write(printer!(kubercDocument(preference)))
  },
})

const recommended: Preference = {
  defaults: [
    { command: 'apply', options: [{ name: 'server-side', default: 'true' }] },
    { command: 'delete', options: [{ name: 'interactive', default: 'true' }] },
  ],
  aliases: [],
}

async function offerRecommended(factory: Factory, path: string): Promise<void> {
  const { streams } = factory.machine
  streams.write(`kuberc file not found at ${path}\n`)
  const prompt = 'Would you like to generate a default kuberc file with recommended options? (y/N): '
  const answer = await streams.stdin.readLine({ prompt })
  if (answer?.trim().toLowerCase() === 'y') await writeKuberc(factory, path, recommended)
}
