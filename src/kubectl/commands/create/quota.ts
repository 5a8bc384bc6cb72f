import { defineCommand } from '../../command.ts'
import { createFlags, ObjectCreator, requireName } from '../../create/object-creator.ts'
import { parseResourceList } from '../../create/resource-list.ts'
import { stringFlag } from '../../flag-types.ts'

export const command = defineCommand({
  usage:
    'quota NAME [--hard=key1=value1,key2=value2] [--scopes=Scope1,Scope2] [--dry-run=server|client|none]',
  description: 'Creates a resource quota with hard limits and scopes.',
  examples: `  # A quota
  kubectl create quota compute --hard=cpu=1,memory=1G,pods=2,services=3,secrets=5,persistentvolumeclaims=10

  # A quota for pods without requests and limits
  kubectl create quota best-effort --hard=pods=100 --scopes=BestEffort`,
  flags: {
    ...createFlags,
    hard: stringFlag('Hard limits, as comma-separated pairs of resource=quantity.'),
    scopes: stringFlag('Comma-separated scopes that all must match an object to be counted.'),
  },
  async run(invocation) {
    const creator = await ObjectCreator.open(invocation)
    requireName(creator)
    const hard = parseResourceList(invocation.flags.hard ?? '')
    const scopes = scopesOf(invocation.flags.scopes ?? '')
    await creator.create({
      resource: {
        group: '',
        version: 'v1',
        kind: 'ResourceQuota',
        plural: 'resourcequotas',
        scope: 'Namespaced',
      },
      failure: 'failed to create quota:',
      content: { spec: { ...(hard && { hard }), ...(scopes && { scopes }) }, status: {} },
    })
  },
})

/** The server knows which scopes there are. */
function scopesOf(text: string): string[] | undefined {
  if (text === '') return undefined
  const scopes = text.split(',')
  if (scopes.includes('')) throw new Error('invalid resource quota scope ""')
  return scopes
}
