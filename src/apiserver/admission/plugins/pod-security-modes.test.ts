import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonValue } from '#/api/text/json-value.ts'
import type { UserInfo } from '../../request.ts'
import type { Answer } from '../../test-server.ts'
import { ConfigurationError, type PluginContext } from '../plugin-context.ts'
import { podSecurity } from './pod-security.ts'
import {
  container,
  namespace,
  outcome,
  pod,
  startWith,
  warningsOf,
  type PluginServer,
} from '../testdata/plugin-server.ts'

interface Secured extends PluginServer {
  /** Creates a namespace with labels such as `enforce=baseline warn=restricted`. */
  readonly labelled: (name: string, labels: string) => Promise<unknown>
  /** Audit annotations of the last request. */
  readonly notes: Map<string, string>
}

async function start(t: TestContext, configuration?: JsonValue): Promise<Secured> {
  const notes = new Map<string, string>()
  const server = await startWith(
    t,
    (context, given) => {
      const plugin = podSecurity(context, given)
      return {
        name: plugin.name,
        handles: target => plugin.handles!(target),
        validate: request => {
          notes.clear()
          return plugin.validate!({
            ...request,
            addAuditAnnotation: (key, value) =>
              notes.set(key.replace('pod-security.kubernetes.io/', ''), value),
          })
        },
      }
    },
    configuration === undefined ? {} : { configuration },
  )
  const labelled = (name: string, text: string): Promise<unknown> =>
    server.given('/api/v1/namespaces', namespace(name, { labels: labelsOf(text) }))
  return { ...server, notes, labelled }
}

function labelsOf(text: string): Readonly<Record<string, string>> {
  const pairs = text
    .split(' ')
    .filter(each => each !== '')
    .map(each => each.split('='))
  return Object.fromEntries(
    pairs.map(([key = '', value = '']) => [`pod-security.kubernetes.io/${key}`, value]),
  )
}

function configuration(fields: { [key: string]: JsonValue }): JsonValue {
  return {
    kind: 'PodSecurityConfiguration',
    apiVersion: 'pod-security.admission.config.k8s.io/v1',
    ...fields,
  }
}

const podsIn = (name: string): string => `/api/v1/namespaces/${name}/pods`
const privileged = { containers: [container({ securityContext: { privileged: true } })] }
const detail = 'privileged (container "a" must not set securityContext.privileged=true)'

function deployment(name: string, spec: object): object {
  const labels = { app: name }
  return {
    kind: 'Deployment',
    apiVersion: 'apps/v1',
    metadata: { name },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [container()], ...spec } },
    },
  }
}

test('PodSecurity: enforce rejects, audit annotates, warn warns', async t => {
  const server = await start(t)
  const check = async (name: string, labels: string, expected: readonly unknown[]): Promise<void> => {
    await server.labelled(name, labels)
    const answer = await server.request('POST', podsIn(name), pod('p', privileged))
    assert.deepEqual([outcome(answer), warningsOf(answer), Object.fromEntries(server.notes)], expected)
  }
  const refusal = (level: string): string =>
    `403 pods "p" is forbidden: violates PodSecurity "${level}": ${detail}`
  const would = (level: string): string => `would violate PodSecurity "${level}": ${detail}`
  await check('none', '', ['ok', [], { 'enforce-policy': 'privileged:latest' }])
  await check('enforced', 'enforce=baseline', [
    refusal('baseline:latest'),
    [],
    { 'enforce-policy': 'baseline:latest' },
  ])
  await check('audited', 'audit=baseline audit-version=v1.30', [
    'ok',
    [],
    { 'enforce-policy': 'privileged:latest', 'audit-violations': would('baseline:v1.30') },
  ])
  await check('warned', 'warn=baseline warn-version=v1.20', [
    'ok',
    [would('baseline:v1.20')],
    { 'enforce-policy': 'privileged:latest' },
  ])
  await check('all', 'enforce=baseline audit=baseline warn=baseline', [
    refusal('baseline:latest'),
    [],
    {
      'enforce-policy': 'baseline:latest',
      'audit-violations': would('baseline:latest'),
    },
  ])
})

test('PodSecurity: invalid namespace labels are rejected', async t => {
  const { create, request, labelled, patch } = await start(t)
  const make = (name: string, labels: string): Promise<string> =>
    create('/api/v1/namespaces', namespace(name, { labels: labelsOf(labels) }))
  assert.equal(
    await make('a', 'enforce=strict'),
    '422 Namespace "a" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: ' +
      'Invalid value: "strict": must be one of privileged, baseline, restricted',
  )
  assert.equal(
    await make('a', 'warn-version=1.30'),
    '422 Namespace "a" is invalid: metadata.labels[pod-security.kubernetes.io/warn-version]: ' +
      'Invalid value: "1.30": must be "latest" or "v1.x"',
  )
  assert.match(
    await make('a', 'audit=x audit-version=v2.0 enforce-version=v1.01'),
    /enforce-version.*audit\].*audit-version/u,
  )
  await labelled('good', 'enforce=baseline')
  assert.match(
    await patch('/api/v1/namespaces/good', { metadata: { labels: labelsOf('enforce=x') } }),
    /^422 /u,
  )
  assert.deepEqual((await request('GET', '/api/v1/namespaces/good')).body.metadata['labels'], {
    ...labelsOf('enforce=baseline'),
    'kubernetes.io/metadata.name': 'good',
  })
})

test('PodSecurity: an enforcing namespace warns about pod templates unless warn is set', async t => {
  const server = await start(t)
  const check = async (name: string, labels: string, expected: readonly string[]): Promise<void> => {
    await server.labelled(name, labels)
    const answer = await server.request(
      'POST',
      `/apis/apps/v1/namespaces/${name}/deployments`,
      deployment('d', privileged),
    )
    assert.deepEqual(
      [answer.code, warningsOf(answer).filter(text => text.startsWith('would'))],
      [201, expected],
    )
  }
  const would = (level: string): string => `would violate PodSecurity "${level}": ${detail}`
  await check('a', 'enforce=baseline', [would('baseline:latest')])
  await check('b', 'enforce=baseline enforce-version=v1.30', [would('baseline:v1.30')])
  await check('c', 'enforce=baseline enforce-version=v1.30 warn-version=v1.31', [would('baseline:v1.31')])
  await check('d', 'enforce=baseline warn=privileged', [])
  await check('e', 'audit=baseline', [])
})

test('PodSecurity: pod templates of all workloads are checked and never rejected', async t => {
  const server = await start(t)
  await server.labelled('x', 'enforce=baseline audit=baseline')
  const labels = { app: 'w' }
  const template = { metadata: { labels }, spec: { ...privileged } }
  const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } }
  const selector = { matchLabels: labels }
  const workloads: readonly (readonly [string, string, string, object])[] = [
    ['/api/v1', 'v1', 'ReplicationController', { spec: { selector: labels, template } }],
    ['/api/v1', 'v1', 'PodTemplate', { template }],
    ['/apis/apps/v1', 'apps/v1', 'ReplicaSet', { spec: { selector, template } }],
    ['/apis/apps/v1', 'apps/v1', 'Deployment', { spec: { selector, template } }],
    ['/apis/apps/v1', 'apps/v1', 'DaemonSet', { spec: { selector, template } }],
    ['/apis/apps/v1', 'apps/v1', 'StatefulSet', { spec: { selector, template, serviceName: 's' } }],
    ['/apis/batch/v1', 'batch/v1', 'Job', { spec: { template: once } }],
    [
      '/apis/batch/v1',
      'batch/v1',
      'CronJob',
      { spec: { schedule: '* * * * *', jobTemplate: { spec: { template: once } } } },
    ],
  ]
  for (const [path, apiVersion, kind, fields] of workloads) {
    const answer = await server.request('POST', `${path}/namespaces/x/${kind.toLowerCase()}s`, {
      kind,
      apiVersion,
      metadata: { name: 'w' },
      ...fields,
    })
    assert.equal(answer.code, 201, answer.text)
    assert.ok(warningsOf(answer).includes(`would violate PodSecurity "baseline:latest": ${detail}`), kind)
    assert.equal(
      server.notes.get('audit-violations'),
      `would violate PodSecurity "baseline:latest": ${detail}`,
      kind,
    )
    assert.equal(server.notes.has('enforce-policy'), false)
  }
})

test('PodSecurity: an updated pod is checked again only after a significant change', async t => {
  const server = await start(t)
  await server.labelled('x', '')
  await server.given(podsIn('x'), pod('p', privileged))
  assert.equal(
    await server.patch('/api/v1/namespaces/x', { metadata: { labels: labelsOf('enforce=baseline') } }),
    'ok',
  )
  await server.request('GET', '/api/v1/namespaces')
  assert.equal(await server.patch(`${podsIn('x')}/p`, { metadata: { labels: { a: 'b' } } }), 'ok')
  assert.equal(await server.patch(`${podsIn('x')}/p/status`, { status: { phase: 'Running' } }), 'ok')
  const changed = {
    spec: { containers: [{ ...container(), image: 'other', securityContext: { privileged: true } }] },
  }
  assert.match(await server.patch(`${podsIn('x')}/p`, changed), /violates PodSecurity "baseline:latest"/u)
  const debug = { spec: { ephemeralContainers: [container({ name: 'd' })] } }
  assert.match(
    await server.patch(`${podsIn('x')}/p/ephemeralcontainers`, debug),
    /violates PodSecurity "baseline:latest"/u,
  )
})

test('PodSecurity: ephemeral containers are checked', async t => {
  const server = await start(t)
  await server.labelled('x', 'enforce=baseline')
  await server.given(podsIn('x'), pod('p'))
  const debug = (securityContext: object): Promise<string> =>
    server.patch(`${podsIn('x')}/p/ephemeralcontainers`, {
      spec: { ephemeralContainers: [container({ name: 'd', securityContext })] },
    })
  assert.match(
    await debug({ privileged: true }),
    /container "d" must not set securityContext.privileged=true/u,
  )
  assert.equal(await debug({}), 'ok')
})

test('PodSecurity: a stricter enforce label warns about existing pods that violate it', async t => {
  const server = await start(t)
  await server.labelled('x', '')
  const controller = (uid: string): object => ({
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid, controller: true }],
  })
  await server.given(podsIn('x'), pod('good'))
  await server.given(podsIn('x'), pod('p2', privileged, controller('u')))
  await server.given(podsIn('x'), pod('p1', privileged, controller('u')))
  await server.given(podsIn('x'), pod('p3', privileged))
  await server.given(podsIn('x'), pod('net', { ...privileged, hostNetwork: true }))
  const label = (
    labels: string,
    headers = { 'content-type': 'application/merge-patch+json' },
  ): Promise<Answer> =>
    server.request('PATCH', '/api/v1/namespaces/x', { metadata: { labels: labelsOf(labels) } }, headers)
  assert.deepEqual(warningsOf(await label('enforce=baseline')), [
    'existing pods in namespace "x" violate the new PodSecurity enforce level "baseline:latest"',
    'net: host namespaces, privileged',
    'p1 (and 2 other pods): privileged',
  ])
  await server.request('GET', '/api/v1/namespaces')
  assert.deepEqual(warningsOf(await label('enforce=baseline warn=restricted')), [])
  assert.deepEqual(warningsOf(await label('enforce=privileged')), [])
  assert.equal(warningsOf(await label('enforce=restricted')).length, 4)
  assert.deepEqual(warningsOf(await label('enforce=baseline')), [])
  assert.equal(warningsOf(await label('enforce-version=v1.30')).length, 3)
})

test('PodSecurity: configured defaults apply without labels', async t => {
  const server = await start(
    t,
    configuration({ defaults: { 'enforce': 'baseline', 'enforce-version': 'v1.30', 'warn': 'restricted' } }),
  )
  const answer = await server.request('POST', podsIn('default'), pod('p', privileged))
  assert.equal(outcome(answer), `403 pods "p" is forbidden: violates PodSecurity "baseline:v1.30": ${detail}`)
  const plain = await server.request('POST', podsIn('default'), pod('p'))
  assert.deepEqual([plain.code, warningsOf(plain).length], [201, 1])
  await server.labelled('free', 'enforce=privileged')
  assert.equal(await server.create(podsIn('free'), pod('p', privileged)), 'ok')
})

test('PodSecurity: namespaces, users and runtime classes can be exempt', async t => {
  const server = await start(
    t,
    configuration({
      defaults: { enforce: 'restricted' },
      exemptions: {
        namespaces: ['kube-system'],
        usernames: ['system:serviceaccount:a:b'],
        runtimeClasses: ['vm'],
      },
    }),
  )
  assert.equal(await server.create(podsIn('kube-system'), pod('p', privileged)), 'ok')
  assert.deepEqual(Object.fromEntries(server.notes), { exempt: 'namespace' })
  const user: UserInfo = { username: 'system:serviceaccount:a:b', groups: ['system:masters'] }
  assert.equal((await server.as(user)('POST', podsIn('default'), pod('p', privileged))).code, 201)
  assert.deepEqual(Object.fromEntries(server.notes), { exempt: 'user' })
  assert.equal(
    await server.create(podsIn('default'), pod('q', { ...privileged, runtimeClassName: 'vm' })),
    'ok',
  )
  assert.deepEqual(Object.fromEntries(server.notes), { exempt: 'runtimeClass' })
  assert.match(await server.create(podsIn('default'), pod('r', privileged)), /^403 /u)
  const warned = await server.request(
    'PATCH',
    '/api/v1/namespaces/kube-system',
    {
      metadata: { labels: labelsOf('enforce=baseline') },
    },
    { 'content-type': 'application/merge-patch+json' },
  )
  assert.deepEqual(warningsOf(warned), [])
  const stricter = await server.request(
    'PATCH',
    '/api/v1/namespaces/kube-system',
    {
      metadata: { labels: labelsOf('enforce=restricted enforce-version=v1.30') },
    },
    { 'content-type': 'application/merge-patch+json' },
  )
  assert.deepEqual(warningsOf(stricter), [
    'namespace "kube-system" is exempt from Pod Security, and the policy (enforce=restricted:v1.30) will be ignored',
  ])
})

test('PodSecurity: an invalid configuration is rejected', () => {
  const check = (value: JsonValue, expected: RegExp): void => {
    assert.throws(
      () => podSecurity({} as PluginContext, value),
      (error: Error) => error instanceof ConfigurationError && expected.test(error.message),
    )
  }
  check({ kind: 'PodSecurityConfiguration', apiVersion: 'v1' }, /unsupported apiVersion "v1"/u)
  check(
    { kind: 'Pod', apiVersion: 'pod-security.admission.config.k8s.io/v1' },
    /kind must be PodSecurityConfiguration/u,
  )
  check(
    configuration({ defaults: { enforce: 'strict' } }),
    /defaults.enforce: Invalid value: "strict": must be one of privileged, baseline, restricted/u,
  )
  check(
    configuration({ defaults: { 'warn-version': 'v1' } }),
    /defaults.warn-version: Invalid value: "v1": must be "latest" or "v1.x"/u,
  )
  check(configuration({ defaults: { enforced: 'baseline' } }), /unknown fields: defaults.enforced/u)
  check(configuration({ exemptions: { namespaces: ['A'] } }), /exemptions.namespaces\[0\]: Invalid value/u)
  check(
    configuration({ exemptions: { namespaces: ['a', 'a'] } }),
    /exemptions.namespaces\[1\]: Duplicate value: "a"/u,
  )
  check(
    configuration({ exemptions: { usernames: [''] } }),
    /exemptions.usernames\[0\]: Invalid value: "": username must not be empty/u,
  )
  check(configuration({ exemptions: { runtimeClasses: ['_'] } }), /exemptions.runtimeClasses\[0\]/u)
  check([], /cannot decode/u)
})
