import type { Command } from '../command.ts'

export const command: Command = {
  usage: 'config',
  description: `Modifies kubeconfig files.

The file is the first that applies of these.

 1. With --kubeconfig, only that file is used.
 2. With the environment variable KUBECONFIG, a list of files, the files are merged. A changed entry is written to the
    file that contains it, a new one to the first file that exists, or the last of the list.
 3. Otherwise ~/.kube/config is used.`,
  flags: {},
  subcommands: {
    'current-context': {
      summary: 'Show the current context',
      load: () => import('./config/current-context.ts'),
    },
    'delete-cluster': { summary: 'Delete a cluster', load: () => import('./config/delete-cluster.ts') },
    'delete-context': { summary: 'Delete a context', load: () => import('./config/delete-context.ts') },
    'delete-user': { summary: 'Delete a user', load: () => import('./config/delete-user.ts') },
    'get-clusters': { summary: 'List the clusters', load: () => import('./config/get-clusters.ts') },
    'get-contexts': { summary: 'List the contexts', load: () => import('./config/get-contexts.ts') },
    'get-users': { summary: 'List the users', load: () => import('./config/get-users.ts') },
    'rename-context': { summary: 'Rename a context', load: () => import('./config/rename-context.ts') },
    'set': { summary: 'Set a single value', load: () => import('./config/set.ts') },
    'set-cluster': { summary: 'Add or change a cluster', load: () => import('./config/set-cluster.ts') },
    'set-context': { summary: 'Add or change a context', load: () => import('./config/set-context.ts') },
    'set-credentials': { summary: 'Add or change a user', load: () => import('./config/set-credentials.ts') },
    'unset': { summary: 'Remove a single value', load: () => import('./config/unset.ts') },
    'use-context': {
      summary: 'Set the current context',
      aliases: ['use'],
      load: () => import('./config/use-context.ts'),
    },
    'view': { summary: 'Show the merged kubeconfig', load: () => import('./config/view.ts') },
  },
}
