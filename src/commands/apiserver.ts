/** `k8ts apiserver`: runs only an API server, until terminated. */
import { resolve } from 'node:path'
import { apiServerFlags, describeApiServerFlags } from '#/apiserver/flags.ts'
import { describeFlags, parseFlags, valueFlag } from '#/base/flags.ts'
import type { Command } from '#/command-line/command.ts'
import { clusterFlags, runCluster } from './run-cluster.ts'

const ownFlags = {
  ...clusterFlags,
  'cert-dir': valueFlag('DIR', 'certificates of k8ts init; without it they are made in DIR/pki', {
    parse: resolve,
    what: 'a folder',
  }),
}

const flagsOf = { ...ownFlags, ...apiServerFlags }

const help = `Usage: k8ts apiserver [FLAGS]

Runs an API server without controllers, scheduler and nodes, and writes the administrator's kubeconfig to
DIR/admin.conf. Several API servers may share an etcd. SIGTERM or ctrl-C stops it; the state remains in DIR.

${describeFlags(ownFlags)}
The following flags are those of kube-apiserver. Configuration files are validated before anything is started.
${describeApiServerFlags()}
Examples:
  k8ts apiserver --port 0 --store memory --disable-admission-plugins ServiceAccount
      an API server for tests, where pods can be created without service accounts
  k8ts apiserver --store etcd://10.0.0.5:2379 --encryption-provider-config keys.yaml
      shares an etcd and its encryption keys with other API servers
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const { 'cert-dir': folder, ...flags } = parseFlags(parameters, flagsOf)
    const shared = folder && { certificatesFolder: folder, isFolderShared: true }
    return runCluster(terminal, { flags, ...shared })
  },
}
