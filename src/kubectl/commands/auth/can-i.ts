import type {
  SelfSubjectAccessReview,
  SelfSubjectRulesReview,
  SubjectRulesReviewStatus,
} from '#/api/generated/authorization/v1.ts'
import type { PolicyRule } from '#/api/generated/rbac/v1.ts'
import { defineCommand, type Invocation } from '../../command.ts'
import { NoResourceMatchError, type RestMapping } from '../../discovery/rest-mapper.ts'
import { boolFlag, stringFlag } from '../../flag-types.ts'
import { builtInResources } from '../../resource/built-in-resources.ts'
import { allNamespacesFlag } from '../../selection-flags.ts'

const flags = {
  'all-namespaces': allNamespacesFlag,
  'list': boolFlag('List all allowed actions.'),
  'no-headers': boolFlag('With --list, omit the header.'),
  'quiet': boolFlag('Print nothing; the exit code tells the result.', { shorthand: 'q' }),
  'subresource': stringFlag('Subresource, such as log or scale.'),
}

type CanIInvocation = Invocation<typeof flags>

const resourceVerbs = (
  'get list watch create update patch delete deletecollection use bind impersonate * ' +
  'approve sign escalate attest'
).split(' ')
const urlVerbs = 'get put post head options delete patch *'.split(' ')

/** Resources that discovery does not list, but authorization knows. */
const virtualResources = ['users', 'groups']

export const command = defineCommand({
  usage: 'can-i VERB [TYPE | TYPE/NAME | NONRESOURCEURL]',
  description: `Checks whether an action is allowed.

VERB is a verb of the API: get, list, watch, delete and so on. TYPE is a resource; short names and groups
are accepted. NONRESOURCEURL is a path that starts with "/". NAME is the name of an object. With the global
flag --as the permissions of other users can be checked.`,
  examples: `  # Can I create pods in all namespaces?
  kubectl auth can-i create pods --all-namespaces

  # Can I list the deployments of the current namespace?
  kubectl auth can-i list deployments.apps

  # Can the service account "foo" of namespace "dev" list the pods of namespace "prod"?
  kubectl auth can-i list pods --as=system:serviceaccount:dev:foo -n prod

  # Can I do everything in the current namespace?
  kubectl auth can-i '*' '*'

  # Can I read the logs of pods?
  kubectl auth can-i get pods --subresource=log

  # Can I request the path /logs/?
  kubectl auth can-i get /logs/

  # All that I can do in namespace "foo"
  kubectl auth can-i --list --namespace=foo`,
  flags,
  async run(invocation) {
    const { args, flags: given } = invocation
    if (given.list) {
      if (args.length > 0) throw new Error('list option must be specified with no arguments')
      if (given.quiet || given['all-namespaces'] || given.subresource) {
        throw new Error(
          `list option can't be specified with neither quiet, all-namespaces nor subresource options`,
        )
      }
      return listAllowed(invocation)
    }
    return checkAccess(invocation)
  },
})

async function checkAccess(invocation: CanIInvocation): Promise<number> {
  const { args, flags: given, factory, streams } = invocation
  const [verb, target, ...others] = args
  if (verb === undefined || target === undefined || others.length > 0) throw new Error(missingArguments)
  const spec = target.startsWith('/')
    ? urlAttributes(invocation, { verb, path: target })
    : await resourceAttributes(invocation, { verb, target })
  if (given['no-headers']) throw new Error('--no-headers cannot be set without --list specified')
  const resources = await factory.resources()
  const review = {
    kind: 'SelfSubjectAccessReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec,
  }
  const location = { mapping: builtInResources.selfSubjectAccessReviews }
  const { status } = (await resources.create(location, review)) as unknown as SelfSubjectAccessReview
  if (!given.quiet) {
    const reasons = [status?.reason, status?.evaluationError].filter(Boolean)
    streams.write(status?.allowed ? 'yes\n' : `${['no', ...reasons].join(' - ')}\n`)
  }
  return status?.allowed ? 0 : 1
}

const missingArguments = `you must specify two arguments: verb resource or verb resource/resourceName.
See 'kubectl auth can-i -h' for help and examples.`

function urlAttributes(
  { flags: given, factory }: CanIInvocation,
  { verb, path }: { readonly verb: string; readonly path: string },
) {
  if (given.subresource) throw new Error('--subresource can not be used with NonResourceURL')
  if (!urlVerbs.includes(verb)) factory.printWarning(`verb '${verb}' is not a known verb\n`)
  return { nonResourceAttributes: { verb, path } }
}

async function resourceAttributes(
  { flags: given, factory }: CanIInvocation,
  { verb, target }: { readonly verb: string; readonly target: string },
) {
  const slash = target.indexOf('/')
  const type = slash === -1 ? target : target.slice(0, slash)
  const name = slash === -1 ? '' : target.slice(slash + 1)
  const allNamespaces = given['all-namespaces'] ?? false
  const mapping = type === '*' ? undefined : await mappingOf(factory, type)
  if (!allNamespaces) {
    if (mapping?.scope === 'Cluster') {
      const group = mapping.group === '' ? '' : ` in group '${mapping.group}'`
      factory.printWarning(`resource '${mapping.plural}' is not namespace scoped${group}\n`)
    }
    if (!resourceVerbs.includes(verb)) factory.printWarning(`verb '${verb}' is not a known verb\n`)
  }
  const { subresource } = given
  const namespace = allNamespaces ? '' : (await factory.namespace()).namespace
  return {
    resourceAttributes: {
      ...(namespace && { namespace }),
      verb,
      ...(mapping?.group && { group: mapping.group }),
      resource: mapping?.plural ?? type,
      ...(subresource && { subresource }),
      ...(name && { name }),
    },
  }
}

/** Undefined, after a warning, for a resource that discovery does not list. */
async function mappingOf(factory: CanIInvocation['factory'], type: string): Promise<RestMapping | undefined> {
  const mapper = await factory.restMapper()
  try {
    return await mapper.resourceFor(type)
  } catch (error) {
    if (!(error instanceof NoResourceMatchError)) throw error
    const [resource = '', ...group] = type.toLowerCase().split('.')
    const place = group.length === 0 ? '' : ` in group '${group.join('.')}'`
    if (!virtualResources.includes(type.toLowerCase())) {
      factory.printWarning(`the server doesn't have a resource type '${resource}'${place}\n`)
    }
    return undefined
  }
}

async function listAllowed({ flags: given, factory, streams }: CanIInvocation): Promise<void> {
  const { namespace } = await factory.namespace()
  const resources = await factory.resources()
  const review = {
    kind: 'SelfSubjectRulesReview',
    apiVersion: 'authorization.k8s.io/v1',
    metadata: {},
    spec: { namespace },
  }
  const location = { mapping: builtInResources.selfSubjectRulesReviews }
  const { status } = (await resources.create(location, review)) as unknown as SelfSubjectRulesReview
  if (status?.incomplete) factory.printWarning(`the list may be incomplete: ${status.evaluationError ?? ''}`)
  const [{ breakdownRule, compactRules, listText }, { tableWidths, TabWriter }] = await Promise.all([
    import('../../auth/policy-rules.ts'),
    import('../../printers/tab-writer.ts'),
  ])
  const table = new TabWriter({ ...tableWidths, write: text => streams.write(text) })
  if (!given['no-headers']) table.write('Resources\tNon-Resource URLs\tResource Names\tVerbs\n')
  for (const rule of compactRules(rulesIn(status).flatMap(breakdownRule))) {
    const lists = [rule.nonResourceURLs, rule.resourceNames, rule.verbs].map(listText)
    table.write(`${[qualifiedResource(rule), ...lists].join('\t')}\n`)
  }
  table.flush()
}

function rulesIn(status: SubjectRulesReviewStatus | undefined): readonly PolicyRule[] {
  return [...(status?.resourceRules ?? []), ...(status?.nonResourceRules ?? [])]
}

/** `deployments.apps/scale`. */
function qualifiedResource({ resources: [resource] = [], apiGroups: [group] = [] }: PolicyRule): string {
  if (resource === undefined) return ''
  const [name = '', ...subresource] = resource.split('/')
  return [group ? `${name}.${group}` : name, ...subresource].join('/')
}
