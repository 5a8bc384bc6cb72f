import type { Command } from '../command.ts'

export const command: Command = {
  usage: 'set SUBCOMMAND',
  description:
    'Changes parts of existing objects: images, resources, environment variables, selectors and subjects.',
  flags: {},
  subcommands: {
    env: { summary: 'Update environment variables of a pod template', load: () => import('./set/env.ts') },
    image: { summary: 'Update the images of a pod template', load: () => import('./set/image.ts') },
    resources: {
      summary: 'Update requests and limits of a pod template',
      load: () => import('./set/resources.ts'),
    },
    selector: { summary: 'Set the selector of a service', load: () => import('./set/selector.ts') },
    serviceaccount: {
      summary: 'Set the service account of a pod template',
      aliases: ['sa'],
      load: () => import('./set/serviceaccount.ts'),
    },
    subject: {
      summary: 'Add users, groups and service accounts to a role binding',
      load: () => import('./set/subject.ts'),
    },
  },
}
