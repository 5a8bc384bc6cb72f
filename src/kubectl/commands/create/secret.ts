import type { Command } from '../../command.ts'

export const command: Command = {
  usage: 'secret (docker-registry | generic | tls)',
  description: `Creates a secret of one of these types.

A docker-registry secret has the credentials of a container registry, a tls secret a certificate with its key, and a
generic secret any data.`,
  flags: {},
  subcommands: {
    'docker-registry': {
      summary: 'Create a secret for use with a Docker registry',
      load: () => import('./secret/docker-registry.ts'),
    },
    'generic': {
      summary: 'Create a secret from a local file, directory, or literal value',
      load: () => import('./secret/generic.ts'),
    },
    'tls': {
      summary: 'Create a TLS secret',
      load: () => import('./secret/tls.ts'),
    },
  },
}
