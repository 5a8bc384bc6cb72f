import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isApiError } from '#/api/errors.ts'
import type { Attributes, Authorizer } from '../authz/authorizer.ts'
import { requestInfo } from '../request-info.ts'
import type { RequestContext, UserInfo } from '../request.ts'
import { impersonate } from './impersonation.ts'
import { apiRequest } from './testdata/token-server.ts'

/** `verb group/resource/subresource namespace/name`, or `verb path`. `*` matches any suffix. */
function textOf(asked: Attributes): string {
  if (!asked.isResource) return `${asked.verb} ${asked.path}`
  const { verb, group, resource, subresource, namespace, name } = asked
  const what = [group || 'core', resource, subresource].filter(part => part !== '').join('/')
  return `${verb} ${what} ${namespace}/${name}`
}

function allowing(rules: readonly string[], asked: string[] = []): Authorizer {
  return {
    authorize: attributes => {
      const text = textOf(attributes)
      asked.push(text)
      const isAllowed = rules.some(
        rule => rule === text || (rule.endsWith('*') && text.startsWith(rule.slice(0, -1))),
      )
      return { decision: isAllowed ? 'allow' : 'no opinion', reason: '' }
    },
  }
}

const alice: UserInfo = { username: 'alice', groups: ['dev', 'system:authenticated'] }

interface Case {
  readonly rules: readonly string[]
  /** Impersonation headers in short form: `user=bob group=a uid=7 extra-k=v`. */
  readonly as: string
  readonly requester?: UserInfo
  readonly url?: string
}

async function run({ rules, as, requester = alice, url = '/api/v1/namespaces/x/pods' }: Case) {
  const given = as.split(' ').map(header => header.split('='))
  const headers = Object.fromEntries(given.map(([name, value = '']) => [`impersonate-${name}`, value]))
  const request = apiRequest('GET', url, { headers: { accept: '*/*', ...headers }, peer: {} })
  const context: RequestContext = {
    request: { ...request, headerValues: name => headers[name]?.split(';') ?? [] },
    info: requestInfo('GET', url, request.query)!,
    user: requester,
    warnings: new Set(),
    annotations: new Map(),
    receivedMs: 0,
    stageStartedMs: 0,
    excludedMs: 0,
    isTerminated: false,
  }
  const asked: string[] = []
  let isPassed = false
  try {
    await impersonate(allowing(rules, asked))(context, async () => {
      isPassed = true
      return { status: 200 }
    })
    return { context, asked, isPassed }
  } catch (error) {
    assert.ok(isApiError(error))
    return { context, asked, isPassed, error }
  }
}

async function check(given: Case, expected: string): Promise<void> {
  const { context, isPassed, error } = await run(given)
  const { user, impersonation } = context
  const extra = Object.entries(user.extra ?? {}).map(([key, values]) => `${key}=${values.join('|')}`)
  const way = impersonation?.constraint || 'old'
  const found = error
    ? `${error.code} ${error.message}`
    : [user.username, user.uid ?? '-', user.groups.join(','), ...extra, way].join(' ')
  assert.equal(found, expected)
  assert.equal(isPassed, error === undefined)
  assert.equal(impersonation?.requester, error ? undefined : (given.requester ?? alice))
}

const accountGroups = 'system:serviceaccounts,system:serviceaccounts:ns,system:authenticated'

test('unconstrained impersonation requires the verb impersonate for user, groups, uid and extra', async () => {
  const rules = [
    'impersonate core/users /bob',
    'impersonate core/users /system:anonymous',
    'impersonate core/users /system:node:n1',
    'impersonate core/groups /a,b',
    'impersonate core/groups /c',
    'impersonate core/groups /system:unauthenticated',
    'impersonate core/serviceaccounts ns/web',
    'impersonate authentication.k8s.io/uids /7',
    'impersonate authentication.k8s.io/userextras/scopes /read',
  ]
  const old = (as: string, expected: string): Promise<void> => check({ rules, as }, expected)
  await old('user=bob', 'bob - system:authenticated old')
  await old('user=bob group=a,b;c', 'bob - a,b,c,system:authenticated old')
  await old('user=bob group=system:unauthenticated', 'bob - system:unauthenticated old')
  await old('user=bob uid=7 extra-scopes=read', 'bob 7 system:authenticated scopes=read old')
  await old('user=system:serviceaccount:ns:web', `system:serviceaccount:ns:web - ${accountGroups} old`)
  await old('user=system:anonymous', 'system:anonymous - system:unauthenticated old')
  await old('user=system:node:n1', 'system:node:n1 - system:authenticated old')
})

test('a forbidden impersonation names the missing permission', async () => {
  const rules = [
    'impersonate core/users /bob',
    'impersonate-on:user-info:list core/pods x/*',
    'impersonate:user-info authentication.k8s.io/users /bob',
  ]
  const text = 'is forbidden: User "alice" cannot'
  const inGroup = 'in API group "authentication.k8s.io" at the cluster scope'
  const inNamespace = 'in API group "" in the namespace "x"'
  const pods = `403 pods ${text} impersonate-on:user-info:list resource "pods" ${inNamespace}`
  const group = (name: string): string => {
    const what = `groups.authentication.k8s.io "${name}"`
    return `403 ${what} ${text} impersonate:user-info resource "groups" ${inGroup}`
  }
  await check({ rules: [], as: 'user=bob' }, pods)
  await check({ rules: ['impersonate core/*'], as: 'user=bob uid=7' }, pods)
  await check(
    { rules, as: 'user=carol' },
    `403 users.authentication.k8s.io "carol" ${text} impersonate:user-info resource "users" ${inGroup}`,
  )
  await check({ rules, as: 'user=bob group=x' }, group('x'))
  await check(
    { rules, as: 'user=bob group=system:masters' },
    `${group('system:masters')}: impersonating the system:masters group is not allowed`,
  )
})

test('constrained impersonation is limited by user type and by action', async () => {
  const on = (way: string): string[] => {
    return [`impersonate-on:${way}:list core/pods x/*`, `impersonate:${way} authentication.k8s.io/*`]
  }
  const requester: UserInfo = {
    username: 'system:serviceaccount:kube-system:agent',
    groups: [],
    extra: { 'authentication.kubernetes.io/node-name': ['n1'] },
  }
  await check(
    { rules: on('user-info'), as: 'user=bob group=a extra-acme.com%2fk=v' },
    'bob - a,system:authenticated acme.com/k=v impersonate:user-info',
  )
  await check(
    { rules: on('user-info'), as: 'user=bob', url: '/version' },
    '403 forbidden: User "alice" cannot impersonate-on:user-info:get path "/version"',
  )
  const alsoThere = [...on('user-info'), 'impersonate-on:user-info:get /version']
  await check(
    { rules: alsoThere, as: 'user=bob', url: '/version' },
    'bob - system:authenticated impersonate:user-info',
  )
  await check(
    { rules: on('serviceaccount'), as: 'user=system:serviceaccount:ns:web' },
    `system:serviceaccount:ns:web - ${accountGroups} impersonate:serviceaccount`,
  )
  await check(
    { rules: on('arbitrary-node'), as: 'user=system:node:n2' },
    'system:node:n2 - system:nodes,system:authenticated impersonate:arbitrary-node',
  )
  await check(
    { rules: on('associated-node'), as: 'user=system:node:n1', requester },
    'system:node:n1 - system:nodes,system:authenticated impersonate:associated-node',
  )
  for (const way of ['associated-node', 'user-info']) {
    const { error } = await run({ rules: on(way), as: 'user=system:node:n2', requester })
    assert.match(String(error?.message), /cannot impersonate-on:arbitrary-node:list/)
  }
})

test('constrained impersonation never allows system:masters or invalid extra', async () => {
  const failure = async (as: string, what: string): Promise<void> => {
    const { error } = await run({ rules: ['impersonate-on:*', 'impersonate:*'], as: `user=bob ${as}` })
    assert.match(String(error?.message), new RegExp(`impersonating ${what} is not allowed`))
  }
  await failure('group=system:masters', 'the system:masters group')
  await failure('group=', 'the empty string group')
  await failure('extra-scopes=x', 'an invalid key in extra')
  await failure('extra-acme.com%2fk=', 'the empty string value in extra')
  await failure('extra-=x', 'the empty string key in extra')
})

test('impersonation of many groups is first authorized with a wildcard', async () => {
  const everyGroup = 'impersonate:user-info authentication.k8s.io/groups /*'
  const rules = ['impersonate-on:*', 'impersonate:user-info authentication.k8s.io/users /bob', everyGroup]
  const { context, asked } = await run({ rules, as: 'user=bob group=a;b;c;d;e' })
  assert.deepEqual(context.user.groups, ['a', 'b', 'c', 'd', 'e', 'system:authenticated'])
  assert.deepEqual(asked.slice(2), [everyGroup])
})

test('impersonation headers require Impersonate-User', async () => {
  for (const as of ['group=x', 'uid=x', 'extra-k=x']) {
    await check(
      { rules: ['*'], as },
      '400 requested a uid, groups or extra fields without impersonating a user name',
    )
  }
  const { context, asked, isPassed } = await run({ rules: [], as: 'nothing=x user=' })
  assert.deepEqual([context.user, asked, isPassed], [alice, [], true])
})

test('later stages see no impersonation headers', async () => {
  const { context } = await run({ rules: ['impersonate*'], as: 'user=bob uid=7 group=g extra-k=v other=1' })
  assert.deepEqual(
    { ...context.request.headers },
    { 'user-agent': 'test/1.0', 'accept': '*/*', 'impersonate-other': '1' },
  )
})

test('invalid node and service account names are ordinary users', async () => {
  const rules = ['impersonate-on:user-info:*', 'impersonate:user-info authentication.k8s.io/users *']
  const ordinary = (name: string): Promise<void> => {
    return check({ rules, as: `user=${name}` }, `${name} - system:authenticated impersonate:user-info`)
  }
  await ordinary('system:node:')
  await ordinary('system:node:N_1')
  await ordinary('system:serviceaccount:a')
  await ordinary('system:serviceaccount:a:b:c')
  await ordinary('system:serviceaccount:A:b')
})
