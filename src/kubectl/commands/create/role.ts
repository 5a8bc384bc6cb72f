import { defineCommand } from '../../command.ts'
import { createFlags, ObjectCreator, requireName } from '../../create/object-creator.ts'
import { givenRules, planRules, resolveResources, ruleFlags, warnOfVerbs } from '../../create/role-rules.ts'

export const command = defineCommand({
  usage:
    'role NAME --verb=verb --resource=resource.group/subresource [--resource-name=resourcename] ' +
    '[--dry-run=server|client|none]',
  description: 'Creates a role with one rule for each API group.',
  examples: `  # A role that may read pods
  kubectl create role pod-reader --verb=get --verb=list --verb=watch --resource=pods

  # A role that may read single pods
  kubectl create role pod-reader --verb=get --resource=pods --resource-name=web-0 --resource-name=web-1

  # A resource of an API group
  kubectl create role deployer --verb=get,list,watch --resource=deployments.apps

  # A subresource
  kubectl create role status-reader --verb=get --resource=pods,pods/status`,
  flags: { ...createFlags, ...ruleFlags },
  async run(invocation) {
    const { factory, flags, streams } = invocation
    const given = givenRules(flags)
    const creator = await ObjectCreator.open(invocation)
    requireName(creator)
    if (given.verbs.length === 0) throw new Error('at least one verb must be specified')
    warnOfVerbs(given.verbs, streams)
    if (given.resources.length === 0) throw new Error('at least one resource must be specified')
    const resources = await resolveResources(factory, given)
    await creator.create({
      resource: {
        group: 'rbac.authorization.k8s.io',
        version: 'v1',
        kind: 'Role',
        plural: 'roles',
        scope: 'Namespaced',
      },
      content: { rules: planRules(given, resources) },
    })
  },
})
