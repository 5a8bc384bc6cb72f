import type { Command } from '../command.ts'

export const command: Command = {
  usage: 'top',
  description: `Shows the CPU and memory usage of nodes and pods.

The values come from the metrics API, which a metrics server must offer. They are averages for autoscaling,
so that those of programs such as "top" may differ.`,
  flags: {},
  subcommands: {
    node: {
      summary: 'Show the usage of nodes',
      aliases: ['nodes', 'no'],
      load: () => import('./top/node.ts'),
    },
    pod: { summary: 'Show the usage of pods', aliases: ['pods', 'po'], load: () => import('./top/pod.ts') },
  },
}
