import type { Command } from '../command.ts'

export const command: Command = {
  usage: 'kuberc',
  description: `Manages the kuberc file with the preferences of the user: defaults of flags, aliases of
commands, and which credential plugins may run.`,
  examples: `  # Show the preferences
  kubectl kuberc view

  # Let "get" print wide tables by default
  kubectl kuberc set --section defaults --command get --option output=wide

  # "kubectl getn" lists nodes
  kubectl kuberc set --section aliases --name getn --command get --prependarg nodes --option output=wide`,
  flags: {},
  subcommands: {
    set: { summary: 'Change the kuberc file', load: () => import('./kuberc/set.ts') },
    view: { summary: 'Show the kuberc file', load: () => import('./kuberc/view.ts') },
  },
}
