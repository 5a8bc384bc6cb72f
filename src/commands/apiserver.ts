/** `k8ts apiserver`: runs only an API server, until terminated. */
import { apiServerFlags, describeApiServerFlags } from '#/apiserver/flags.ts'
import { describeFlags, parseFlags } from '#/base/flags.ts'
import type { Command } from '#/command-line/command.ts'
import { clusterFlags, runCluster } from './run-cluster.ts'

const help = `Usage: k8ts apiserver [FLAGS]

Runs an API server without controllers, scheduler and nodes, and writes the administrator's kubeconfig to
DIR/admin.conf. Several of them may share an etcd. SIGTERM or ctrl-C ends it and leaves the state in DIR.

${describeFlags(clusterFlags)}
The flags that follow are kube-apiserver's, and mean what they mean there. What a file says is checked before
anything starts.
${describeApiServerFlags()}
Examples:
  k8ts apiserver --port 0 --store memory --disable-admission-plugins ServiceAccount
      an API for a test, in which pods can be made though no controller makes their service accounts
  k8ts apiserver --store etcd://10.0.0.5:2379 --encryption-provider-config keys.yaml
      shares an etcd, and the keys of what is in it, with other servers
`

export const command: Command = {
  help,
  async run(parameters, terminal) {
    const flags = parseFlags(parameters, { ...clusterFlags, ...apiServerFlags })
    return runCluster(terminal, { flags })
  },
}
