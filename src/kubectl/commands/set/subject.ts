import type { JsonObject } from '#/api/text/json-object.ts'
import { equalJson, type JsonValue } from '#/api/text/json-value.ts'
import { defineCommand, type Invocation } from '../../command.ts'
import { stringArrayFlag } from '../../flag-types.ts'
import { setFlags } from '../../set/set-flags.ts'
import { findSetObjects, isKind, setObjects, validateSetFlags } from '../../set/set-objects.ts'
import { dryRunOf, selectorFlag } from '../../write-flags.ts'

const rbacGroup = 'rbac.authorization.k8s.io'

const subjectFlags = {
  ...setFlags,
  group: stringArrayFlag('Group to add.'),
  selector: selectorFlag,
  serviceaccount: stringArrayFlag('Service account to add, as NAMESPACE:NAME.'),
  user: stringArrayFlag('User to add.'),
}

export const command = defineCommand({
  usage:
    'subject (-f FILENAME | TYPE NAME) [--user=username] [--group=groupname] ' +
    '[--serviceaccount=namespace:serviceaccountname] [--dry-run=server|client|none]',
  description: 'Adds users, groups and service accounts to role bindings and cluster role bindings.',
  examples: `  # A service account to a cluster role binding
  kubectl set subject clusterrolebinding admin --serviceaccount=default:robot

  # Two users and a group to a role binding
  kubectl set subject rolebinding admin --user=one --user=two --group=team

  # Print the changed object, without the server
  kubectl create rolebinding admin --role=admin --user=one -o yaml --dry-run=client |
    kubectl set subject --local -f - --user=two -o yaml`,
  flags: subjectFlags,
  async run(invocation) {
    const { args, flags, factory, streams } = invocation
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const infos = await findSetObjects(invocation, { resources: args, labelSelector: flags.selector })
    validateSetFlags(invocation, { dryRun, labelSelector: flags.selector })
    const { namespace } = await factory.namespace()
    const subjects = subjectsOf(flags, namespace)
    const isClusterWide = infos.some(({ object = {} }) => isKind(object, 'ClusterRoleBinding', rbacGroup))
    if (isClusterWide && (flags.serviceaccount ?? []).some(each => each.startsWith(':'))) {
      throw new Error('serviceaccount must be <namespace>:<name>, namespace must be specified')
    }
    await setObjects(invocation, {
      infos,
      operation: 'subjects updated',
      failure: 'failed to patch subjects to rolebinding: ',
      change: object => withSubjects(object, subjects),
    })
  },
})

function subjectsOf(
  { user = [], group = [], serviceaccount = [] }: Invocation<typeof subjectFlags>['flags'],
  defaultNamespace: string,
): readonly JsonObject[] {
  if (user.length + group.length + serviceaccount.length === 0) {
    throw new Error('you must specify at least one value of user, group or serviceaccount')
  }
  const unique = (names: readonly string[]): readonly string[] => [...new Set(names)].sort()
  const accounts = unique(serviceaccount).map(text => {
    const [namespace = '', name = '', ...more] = text.split(':')
    if (name === '' || more.length > 0) throw new Error('serviceaccount must be <namespace>:<name>')
    return { kind: 'ServiceAccount', name, namespace: namespace || defaultNamespace }
  })
  return [
    ...unique(user).map(name => ({ kind: 'User', apiGroup: rbacGroup, name })),
    ...unique(group).map(name => ({ kind: 'Group', apiGroup: rbacGroup, name })),
    ...accounts,
  ]
}

/** Undefined if the object has them already. */
function withSubjects(object: JsonObject, subjects: readonly JsonObject[]): JsonObject | undefined {
  const isBinding =
    isKind(object, 'RoleBinding', rbacGroup) || isKind(object, 'ClusterRoleBinding', rbacGroup)
  if (!isBinding) throw new Error('setting subjects is only supported for RoleBinding/ClusterRoleBinding')
  const existing: readonly JsonValue[] = Array.isArray(object['subjects']) ? object['subjects'] : []
  const added = subjects.filter(subject => !existing.some(each => equalJson(each, subject)))
  return added.length === 0 ? undefined : { ...object, subjects: [...existing, ...added] }
}
