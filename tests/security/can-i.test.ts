/**
 * `kubectl auth can-i --list` for users, a node and controllers, each with its own credentials. The
 * expectations are taken from Kubernetes' documentation of its default roles.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clusterForFile } from '../clients/cluster.ts'
import { kubectlVersion } from '../clients/kubectl/session.ts'
import { kubeconfigFor, kubeconfigWithToken, kubectl } from './kubeconfigs.ts'

/** Verbs, a group, and its resources; or `get` and paths. */
type Rules = readonly string[]

const read = 'get list watch'
const write = 'create delete deletecollection patch update'

/** The rights of every authenticated user. */
const authenticated: Rules = [
  'create | authentication.k8s.io | selfsubjectreviews',
  'create | authorization.k8s.io | selfsubjectaccessreviews selfsubjectrulesreviews',
  'get | /api /api/* /apis /apis/* /healthz /k8ts/* /livez /openapi /openapi/* /readyz /version /version/',
]

const serviceAccount: Rules = [
  ...authenticated,
  'get | /.well-known/openid-configuration /.well-known/openid-configuration/',
  'get | /openid/v1/jwks /openid/v1/jwks/',
]

const administrator: Rules = [...authenticated, '* | * | *', '* | *']

const viewer: Rules = [
  `${read} | core | bindings configmaps endpoints events limitranges namespaces namespaces/status`,
  `${read} | core | persistentvolumeclaims persistentvolumeclaims/status pods pods/log pods/status`,
  `${read} | core | replicationcontrollers replicationcontrollers/scale replicationcontrollers/status`,
  `${read} | core | resourcequotas resourcequotas/status serviceaccounts services services/status`,
  `${read} | events.k8s.io | events`,
  `${read} | discovery.k8s.io | endpointslices`,
  `${read} | apps | controllerrevisions daemonsets daemonsets/status deployments deployments/scale`,
  `${read} | apps | deployments/status replicasets replicasets/scale replicasets/status`,
  `${read} | apps | statefulsets statefulsets/scale statefulsets/status`,
  `${read} | autoscaling | horizontalpodautoscalers horizontalpodautoscalers/status`,
  `${read} | batch | cronjobs cronjobs/status jobs jobs/status`,
  `${read} | extensions | daemonsets daemonsets/status deployments deployments/scale deployments/status`,
  `${read} | extensions | ingresses ingresses/status networkpolicies replicasets replicasets/scale`,
  `${read} | extensions | replicasets/status replicationcontrollers/scale`,
  `${read} | policy | poddisruptionbudgets poddisruptionbudgets/status`,
  `${read} | networking.k8s.io | ingresses ingresses/status networkpolicies`,
  `${read} | resource.k8s.io | resourceclaims resourceclaims/status resourceclaimtemplates`,
]

const editor: Rules = [
  ...viewer,
  `${read} ${write} | core | pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy`,
  `${write} | core | configmaps events persistentvolumeclaims pods replicationcontrollers services`,
  `${write} | core | replicationcontrollers/scale serviceaccounts`,
  'impersonate | core | serviceaccounts',
  'create | core | pods/eviction serviceaccounts/token',
  `${write} | events.k8s.io | events`,
  `${write} | apps | daemonsets deployments deployments/rollback deployments/scale replicasets`,
  `${write} | apps | replicasets/scale statefulsets statefulsets/scale`,
  `${write} | autoscaling | horizontalpodautoscalers`,
  `${write} | batch | cronjobs jobs`,
  `${write} | extensions | daemonsets deployments deployments/rollback deployments/scale ingresses`,
  `${write} | extensions | networkpolicies replicasets replicasets/scale replicationcontrollers/scale`,
  `${write} | policy | poddisruptionbudgets`,
  `${write} | networking.k8s.io | ingresses networkpolicies`,
  `${read} ${write} | coordination.k8s.io | leases`,
  `${write} | resource.k8s.io | resourceclaims resourceclaimtemplates`,
]

const owner: Rules = [
  ...editor,
  'create | authorization.k8s.io | localsubjectaccessreviews',
  `${read} ${write} | rbac.authorization.k8s.io | rolebindings roles`,
]

const recordEvents: Rules = [
  'create patch update | core | events',
  'create patch update | events.k8s.io | events',
]

const deploymentController: Rules = [
  ...serviceAccount,
  ...recordEvents,
  ...['apps', 'extensions'].flatMap(group => [
    `${read} update | ${group} | deployments`,
    `update | ${group} | deployments/status deployments/finalizers`,
    `${read} create delete patch update | ${group} | replicasets`,
  ]),
  `${read} update | core | pods`,
]

const jobController: Rules = [
  ...serviceAccount,
  ...recordEvents,
  `${read} patch update | batch | jobs`,
  'update | batch | jobs/status jobs/finalizers',
  'create delete list patch watch | core | pods',
]

/** Verbs by resource or URL, formatted as by kubectl. */
function expected(rules: Rules): Readonly<Record<string, string>> {
  const verbs = new Map<string, Set<string>>()
  for (const rule of rules) {
    const [names = '', group = '', resources] = rule.split(' | ')
    for (const what of (resources ?? group).split(' ')) {
      const key = resources === undefined ? `[${what}]` : withGroup(what, group)
      const known = verbs.get(key) ?? new Set()
      for (const name of names.split(' ')) known.add(name)
      verbs.set(key, known)
    }
  }
  return sorted(verbs)
}

function withGroup(what: string, group: string): string {
  const [resource, subresource] = what.split('/')
  const name = group === 'core' ? resource : `${resource}.${group}`
  return subresource === undefined ? name! : `${name}/${subresource}`
}

/** Parses kubectl's rows: resources, URLs, resource names, verbs. */
function printed(table: string): Readonly<Record<string, string>> {
  const verbs = new Map<string, Set<string>>()
  for (const line of table.split('\n')) {
    const row = /^(\S*)\s+\[(.*?)\]\s+\[(.*?)\]\s+\[(.*?)\]$/.exec(line)
    if (row === null) continue
    const [, resource = '', url = '', names = '', each = ''] = row
    const key = `${resource === '' ? `[${url}]` : resource}${names === '' ? '' : ` = ${names}`}`
    const known = verbs.get(key) ?? new Set()
    for (const name of each.split(' ')) known.add(name)
    verbs.set(key, known)
  }
  return sorted(verbs)
}

function sorted(verbs: ReadonlyMap<string, ReadonlySet<string>>): Readonly<Record<string, string>> {
  const entries = [...verbs].map(([key, names]) => [key, [...names].sort().join(' ')] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

const skip =
  (await kubectlVersion()) === undefined && 'kubectl is not installed (Debian package kubernetes-client)'

describe('kubectl auth can-i', { skip }, async () => {
  const cluster = await clusterForFile()
  const admin = (...words: readonly string[]): Promise<string> => kubectl(cluster.kubeconfig, ...words)
  await admin('create', 'namespace', 'team')
  await admin('create', 'clusterrolebinding', 'viewer', '--clusterrole=view', '--user=vera')
  await admin('create', 'rolebinding', 'editor', '-n', 'team', '--clusterrole=edit', '--user=edith')
  await admin('create', 'rolebinding', 'owner', '-n', 'team', '--clusterrole=admin', '--user=olga')

  const check = async (kubeconfig: string, inside: string, rules: Rules): Promise<void> => {
    const table = await kubectl(kubeconfig, 'auth', 'can-i', '--list', '-n', inside)
    assert.deepEqual(printed(table), expected(rules), table)
  }
  const controller = async (name: string): Promise<string> => {
    await admin('create', 'serviceaccount', '-n', 'kube-system', name)
    const token = await admin('create', 'token', '-n', 'kube-system', name)
    return kubeconfigWithToken(cluster, name, token.trim())
  }

  test('kubectl auth can-i --list of an administrator shows everything', async () => {
    await check(cluster.kubeconfig, 'team', administrator)
  })

  test('kubectl auth can-i --list of a viewer shows the view role in every namespace', async () => {
    const kubeconfig = await kubeconfigFor(cluster, 'vera')
    await check(kubeconfig, 'team', [...authenticated, ...viewer])
    await check(kubeconfig, 'kube-system', [...authenticated, ...viewer])
  })

  test('kubectl auth can-i --list of a namespace editor and admin shows that namespace only', async () => {
    const edith = await kubeconfigFor(cluster, 'edith')
    await check(edith, 'team', [...authenticated, ...editor])
    await check(edith, 'default', authenticated)
    const olga = await kubeconfigFor(cluster, 'olga')
    await check(olga, 'team', [...authenticated, ...owner])
    await check(olga, 'default', authenticated)
  })

  test('kubectl auth can-i --list of controllers shows their roles and those of service accounts', async () => {
    await check(await controller('deployment-controller'), 'team', deploymentController)
    await check(await controller('job-controller'), 'team', jobController)
  })

  test('kubectl auth can-i --list of a node is marked incomplete, and single checks depend on its pods', async () => {
    const kubeconfig = await kubeconfigFor(cluster, 'system:node:n1', ['system:nodes'])
    await check(kubeconfig, 'team', authenticated)
    assert.match(
      await kubectl(kubeconfig, 'auth', 'can-i', '--list'),
      /^Warning: the list may be incomplete: node authorizer does not support user rule resolution$/m,
    )
    const canI = async (...words: readonly string[]): Promise<string> => {
      return (
        (await kubectl(kubeconfig, 'auth', 'can-i', ...words))
          .split('\n')
          .find(line => /^(?:yes|no)\b/.test(line)) ?? ''
      )
    }
    assert.equal(await canI('update', 'nodes/n1', '--subresource=status'), 'yes')
    assert.equal(await canI('list', 'services', '-A'), 'yes')
    assert.match(await canI('get', 'nodes/n2'), /^no\b/)
    assert.match(await canI('get', 'secrets/s', '-n', 'team'), /^no\b/)
    assert.match(await canI('list', 'secrets', '-A'), /^no\b/)
  })
})
