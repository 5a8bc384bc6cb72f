import { defineCommand } from '../../command.ts'
import { createFlags, ObjectCreator, requireName } from '../../create/object-creator.ts'
import { planBinding, subjectFlags } from '../../create/role-subjects.ts'
import { stringFlag } from '../../flag-types.ts'

export const command = defineCommand({
  usage:
    'rolebinding NAME --clusterrole=NAME|--role=NAME [--user=username] [--group=groupname] ' +
    '[--serviceaccount=namespace:serviceaccountname] [--dry-run=server|client|none]',
  description: 'Creates a role binding, which gives a role or a cluster role to subjects in one namespace.',
  examples: `  # Two users and a group may administer the namespace
  kubectl create rolebinding admins --clusterrole=admin --user=jane --user=john --group=devs

  # A service account gets a role
  kubectl create rolebinding robot --role=pod-reader --serviceaccount=shop:robot`,
  flags: {
    ...createFlags,
    ...subjectFlags,
    clusterrole: stringFlag('Name of the cluster role.'),
    role: stringFlag('Name of the role.'),
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    requireName(creator)
    const { clusterrole = '', role = '' } = invocation.flags
    if ((clusterrole === '') === (role === '')) {
      throw new Error('exactly one of clusterrole or role must be specified')
    }
    const roleRef =
      role === ''
        ? { kind: 'ClusterRole' as const, name: clusterrole }
        : { kind: 'Role' as const, name: role }
    await creator.create({
      resource: {
        group: 'rbac.authorization.k8s.io',
        version: 'v1',
        kind: 'RoleBinding',
        plural: 'rolebindings',
        scope: 'Namespaced',
      },
      failure: 'failed to create rolebinding:',
      content: { ...planBinding(invocation.flags, roleRef) },
    })
  },
})
