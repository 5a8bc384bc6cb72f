import type { Command } from '../command.ts'

export const command: Command = {
  usage: 'auth',
  description: 'Inspects authorization.',
  flags: {},
  subcommands: {
    'can-i': { summary: 'Check whether an action is allowed', load: () => import('./auth/can-i.ts') },
    'reconcile': {
      summary: 'Reconcile the rules of roles and the subjects of bindings',
      load: () => import('./auth/reconcile.ts'),
    },
    'whoami': { summary: 'Show the attributes of the current user', load: () => import('./auth/whoami.ts') },
  },
}
