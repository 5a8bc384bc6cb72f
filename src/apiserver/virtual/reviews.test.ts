import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NonResourceRule, ResourceRule } from '#/api/generated/authorization/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { startTestCluster, type TestCluster } from '../authz/test-cluster.ts'
import { pipeline } from '../pipeline.ts'
import type { UserInfo } from '../request.ts'
import { Router } from '../router.ts'
import { accessReviews } from './reviews.ts'

interface Answer {
  readonly code: number
  readonly kind: string
  readonly message?: string
  readonly spec?: unknown
  readonly status: Readonly<Record<string, unknown>>
}

type Ask = (who: UserInfo, path: string, spec: object, metadata?: object) => Promise<Answer>

const eve: UserInfo = { username: 'eve', groups: ['system:authenticated'] }
const apiVersion = 'authorization.k8s.io/v1'
const base = `/apis/${apiVersion}`

/** Calls the handlers through the router without authorization, which is not part of the test. */
function asking({ registry, authorizer }: TestCluster): Ask {
  const router = new Router({ registry, subresources: new Map(), virtual: accessReviews(authorizer) })
  const stage: Parameters<typeof pipeline>[1][number] = (context, next) => {
    context.user = context.request.peer.user!
    return next(context)
  }
  const handle = pipeline(registry.platform, [stage], context => {
    assert.ok(context.info.isResource)
    return router.route(context, context.info)
  })
  return async (user, path, spec, metadata) => {
    const kind = kinds[path.split('/').at(-1)!]!
    const sent = Buffer.from(JSON.stringify({ kind, apiVersion, ...(metadata && { metadata }), spec }))
    const { status: code, body } = await handle({
      method: 'POST',
      path: `${base}/${path}`,
      query: new URLSearchParams(),
      headers: {},
      signal: new AbortController().signal,
      body: { bytes: async () => sent },
      peer: { address: '127.0.0.1', user },
    })
    assert.ok(body?.type === 'value')
    return { code, ...(body.value as Omit<Answer, 'code'>) }
  }
}

const kinds: Readonly<Record<string, string>> = {
  subjectaccessreviews: 'SubjectAccessReview',
  selfsubjectaccessreviews: 'SelfSubjectAccessReview',
  localsubjectaccessreviews: 'LocalSubjectAccessReview',
  selfsubjectrulesreviews: 'SelfSubjectRulesReview',
}

async function viewerCluster(
  t: Parameters<typeof startTestCluster>[0],
): Promise<{ readonly cluster: TestCluster; readonly ask: Ask }> {
  const cluster = await startTestCluster(t)
  const apiGroup = 'rbac.authorization.k8s.io'
  await cluster.create({
    kind: 'RoleBinding',
    apiVersion: `${apiGroup}/v1`,
    metadata: { name: 'viewers', namespace: 'n' },
    roleRef: { apiGroup, kind: 'ClusterRole', name: 'view' },
    subjects: [{ kind: 'User', name: 'eve', apiGroup }],
  } as KubernetesObject)
  return { cluster, ask: asking(cluster) }
}

const getPods = { verb: 'get', resource: 'pods', namespace: 'n' }

test('access reviews return decision and reason', async t => {
  const { ask } = await viewerCluster(t)
  const reason = 'RBAC: allowed by RoleBinding "viewers/n" of ClusterRole "view" to User "eve"'
  const asked = { resourceAttributes: getPods }
  const { code, kind, status, spec } = await ask(eve, 'selfsubjectaccessreviews', asked)
  assert.deepEqual(
    [code, kind, status, spec],
    [201, 'SelfSubjectAccessReview', { allowed: true, reason }, asked],
  )
  const check = async (path: string, spec: object, status: object): Promise<void> => {
    assert.deepEqual((await ask(eve, path, spec)).status, status, JSON.stringify(spec))
  }
  await check(
    'selfsubjectaccessreviews',
    { resourceAttributes: { ...getPods, namespace: 'm' } },
    { allowed: false },
  )
  await check(
    'selfsubjectaccessreviews',
    { nonResourceAttributes: { verb: 'get', path: '/healthz' } },
    {
      allowed: true,
      reason:
        'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery"' +
        ' to Group "system:authenticated"',
    },
  )
  await check('subjectaccessreviews', { ...asked, user: 'eve' }, { allowed: true, reason })
  await check('subjectaccessreviews', { ...asked, user: 'bob' }, { allowed: false })
  await check(
    'subjectaccessreviews',
    { ...asked, user: 'bob', groups: ['system:masters'] },
    { allowed: true },
  )
  await check('namespaces/n/localsubjectaccessreviews', { ...asked, user: 'eve' }, { allowed: true, reason })
})

test('an ambiguous access review is rejected', async t => {
  const { ask } = await viewerCluster(t)
  const check = async (
    path: string,
    spec: object,
    code: number,
    message: string,
    metadata?: object,
  ): Promise<void> => {
    const answer = await ask(eve, path, spec, metadata)
    assert.equal(answer.code, code, JSON.stringify(answer))
    assert.ok(answer.message?.includes(message), answer.message ?? '')
  }
  const both = { resourceAttributes: {}, nonResourceAttributes: {} }
  await check(
    'selfsubjectaccessreviews',
    {},
    422,
    'exactly one of nonResourceAttributes or resourceAttributes',
  )
  await check('selfsubjectaccessreviews', both, 422, 'cannot be specified in combination')
  await check('subjectaccessreviews', { resourceAttributes: getPods }, 422, 'at least one of user or group')
  await check('subjectaccessreviews', { resourceAttributes: getPods, user: 'x' }, 422, 'must be empty', {
    name: 'x',
  })
  const local = { resourceAttributes: getPods, user: 'eve' }
  await check('namespaces/m/localsubjectaccessreviews', local, 422, 'must match metadata.namespace')
  await check(
    'namespaces/m/localsubjectaccessreviews',
    local,
    400,
    'does not match the namespace sent on the request',
    { namespace: 'n' },
  )
  const path = { nonResourceAttributes: { path: '/', verb: 'get' }, user: 'x' }
  await check('namespaces/n/localsubjectaccessreviews', path, 422, 'disallowed')
  await check('selfsubjectrulesreviews', {}, 400, 'no namespace on request')
})

test('unparsable selectors in access reviews are reported and ignored', async t => {
  const { ask } = await viewerCluster(t)
  const list = { verb: 'list', resource: 'pods' }
  const node: UserInfo = { username: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] }
  const check = async (more: object, expected: object): Promise<void> => {
    const { status } = await ask(node, 'selfsubjectaccessreviews', {
      resourceAttributes: { ...list, ...more },
    })
    const { reason: _, ...rest } = status
    assert.deepEqual(rest, expected, JSON.stringify(more))
  }
  const mine = { key: 'spec.nodeName', operator: 'In', values: ['n1'] }
  await check({ fieldSelector: { rawSelector: 'spec.nodeName=n1' } }, { allowed: true })
  await check({ fieldSelector: { requirements: [mine] } }, { allowed: true })
  await check(
    { fieldSelector: { requirements: [mine, { key: 'x', operator: 'Exists' }] } },
    {
      allowed: true,
      evaluationError: 'spec.resourceAttributes.fieldSelector partially ignored due to parse error',
    },
  )
  await check(
    { fieldSelector: { requirements: [{ ...mine, values: ['n1', 'n2'] }] } },
    { allowed: false, evaluationError: 'spec.resourceAttributes.fieldSelector ignored due to parse error' },
  )
  await check(
    { fieldSelector: { rawSelector: 'nonsense' }, labelSelector: { rawSelector: '!!' } },
    {
      allowed: false,
      evaluationError:
        'spec.resourceAttributes.fieldSelector ignored due to parse error; ' +
        'spec.resourceAttributes.labelSelector ignored due to parse error',
    },
  )
})

interface Listed {
  readonly rules: readonly ResourceRule[]
  readonly paths: readonly NonResourceRule[]
  readonly rest: object
}

test('SelfSubjectRulesReview lists the rules of the user in a namespace', async t => {
  const { cluster, ask } = await viewerCluster(t)
  const list = async (user: UserInfo, namespace: string): Promise<Listed> => {
    const { spec, status } = await ask(user, 'selfsubjectrulesreviews', { namespace })
    assert.deepEqual(spec, {})
    const { resourceRules: rules, nonResourceRules: paths, ...rest } = status
    return { rules: rules as readonly ResourceRule[], paths: paths as readonly NonResourceRule[], rest }
  }
  const viewer = await list(eve, 'n')
  assert.deepEqual(viewer.rest, { incomplete: false })
  assert.ok(
    viewer.rules.some(({ resources, verbs }) => {
      return resources?.includes('pods') && verbs.join() === 'get,list,watch'
    }),
  )
  assert.ok(!viewer.rules.some(({ resources }) => resources?.includes('secrets')))
  assert.ok(viewer.paths.some(({ nonResourceURLs }) => nonResourceURLs?.includes('/openapi/*')))
  const elsewhere = await list(eve, 'm')
  assert.deepEqual(
    elsewhere.rules.flatMap(({ resources = [] }) => resources),
    ['selfsubjectaccessreviews', 'selfsubjectrulesreviews', 'selfsubjectreviews'],
  )
  const administrator = await list({ username: 'root', groups: ['system:masters'] }, 'n')
  assert.deepEqual(administrator.rules, [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }])
  assert.deepEqual(administrator.paths, [{ verbs: ['*'], nonResourceURLs: ['*'] }])
  const node = await list({ username: 'system:node:n1', groups: ['system:nodes'] }, 'n')
  assert.deepEqual(node.rest, {
    incomplete: true,
    evaluationError: 'node authorizer does not support user rule resolution',
  })
  const controller = await list(
    { username: 'system:serviceaccount:kube-system:ttl-controller', groups: [] },
    'n',
  )
  assert.deepEqual(
    controller.rules,
    cluster.authorizer.rulesFor(
      { username: 'system:serviceaccount:kube-system:ttl-controller', groups: [] },
      '',
    ).resourceRules,
  )
  assert.deepEqual(
    controller.rules.map(({ resources }) => resources?.join()),
    ['nodes', 'events'],
  )
})
