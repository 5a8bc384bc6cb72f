import { defineCommand } from '../../command.ts'
import { createFlags, ObjectCreator } from '../../create/object-creator.ts'
import { planBinding, subjectFlags } from '../../create/role-subjects.ts'
import { stringFlag } from '../../flag-types.ts'

export const command = defineCommand({
  usage:
    'clusterrolebinding NAME --clusterrole=NAME [--user=username] [--group=groupname] ' +
    '[--serviceaccount=namespace:serviceaccountname] [--dry-run=server|client|none]',
  description: 'Creates a cluster role binding, which gives a cluster role to subjects in all namespaces.',
  examples: `  # Two users and a group may administer the cluster
  kubectl create clusterrolebinding admins --clusterrole=cluster-admin --user=jane --user=john --group=devs`,
  flags: {
    ...createFlags,
    ...subjectFlags,
    clusterrole: stringFlag('Name of the cluster role.', { required: true }),
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    const { flags } = invocation
    await creator.create({
      resource: {
        group: 'rbac.authorization.k8s.io',
        version: 'v1',
        kind: 'ClusterRoleBinding',
        plural: 'clusterrolebindings',
        scope: 'Cluster',
      },
      failure: 'failed to create clusterrolebinding:',
      content: { ...planBinding(flags, { kind: 'ClusterRole', name: flags.clusterrole ?? '' }) },
    })
  },
})
