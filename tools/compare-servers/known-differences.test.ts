import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { ClassifiedDifference } from './answers/difference-class.ts'
import { knownDifferenceOf, knownDifferences, type KnownContext } from './known-differences.ts'

test('docs/differences.md lists the deliberate differences, each with a reason', async () => {
  const text = await readFile(new URL('../../docs/differences.md', import.meta.url), 'utf8')
  const rows = [...text.matchAll(/^\| `([a-z0-9-]+)` \| (.+) \| (.+) \|$/gm)]
  const [listed, ids] = [rows.map(([, id = '']) => id), knownDifferences.map(({ id }) => id)]
  assert.deepEqual([...listed].sort(), [...ids].sort())
})

test('a deliberate difference is recognized, and another one of the same answer is not', () => {
  const check = (
    path: string,
    difference: Partial<ClassifiedDifference>,
    expected: string | undefined,
    more: Partial<KnownContext> = {},
  ): void => {
    const whole = { class: 'body', place: '', ours: undefined, theirs: undefined, ...difference } as const
    assert.equal(knownDifferenceOf(whole, { path, method: 'GET', body: {}, ...more }), expected, path)
  }
  const refused = {
    class: 'status',
    place: 'status',
    ours: '405 MethodNotAllowed: x',
    theirs: '200',
  } as const
  check('/openapi/v2', refused, 'openapi-methods', { method: 'POST' })
  check('/openapi/v2', refused, undefined)
  check('/api', refused, undefined, { method: 'POST' })

  const type = {
    place: 'headers/content-type',
    ours: 'application/json',
    theirs: 'text/plain; charset=utf-8',
  }
  check('/openapi/v3', type, 'openapi-v3-json')
  check('/openapi/v3/api/v1', type, undefined)
  const [ours, theirs] = [{ paths: { 'api/v1': 1, 'apis/metrics.k8s.io': 1 } }, '{"paths":{"api/v1":1}}']
  check('/openapi/v3', { ours, theirs }, 'openapi-v3-json')
  check('/openapi/v3', { ours: { paths: { api: 1 } }, theirs }, undefined)

  const place = '/definitions/Pod/properties/spec/description'
  const body = { definitions: { PodSpec: { description: 'a spec' } } }
  check('/openapi/v2', { place, ours: 'a spec', theirs: 'b' }, 'openapi-descriptions', { body })
  check('/openapi/v2', { place, ours: 'c', theirs: 'b' }, undefined, { body })

  const [groups, fewer] = [[{ name: 'apps' }, { name: 'metrics.k8s.io' }], [{ name: 'apps' }]]
  check('/apis', { place: '/groups', ours: groups, theirs: fewer }, 'metrics-api')
  check('/apis', { place: '/groups', ours: groups, theirs: [] }, undefined)

  const jobs = '/apis/batch/v1/namespaces/a/jobs?dryRun=All'
  const invalid = {
    class: 'status',
    place: 'status',
    ours: '422 Invalid: [spec.completions: Required value]',
  } as const
  check(jobs, { ...invalid, theirs: '0' }, 'job-success-policy')
  check(jobs, { ...invalid, theirs: '201' }, undefined)

  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All'
  const unsupported = { ...invalid, ours: '422 Invalid: ' }
  check(definitions, { ...unsupported, theirs: '0' }, 'selectable-fields-panic')
  check(definitions, { ...unsupported, theirs: '201' }, undefined)
  const order = { class: 'causes', place: '/details/causes (order)' } as const
  const reordered = { ...order, ours: 'a.type X, a.default Y', theirs: 'a.default Y, a.type X' }
  check(definitions, reordered, 'schema-default-order')
  check(definitions, { ...reordered, theirs: 'a.default Y' }, undefined)
  check(definitions, { ...order, ours: 'a X, b Y', theirs: 'b Y, a X' }, undefined)

  const unrecognized = {
    class: 'status',
    place: 'status',
    ours: '400 BadRequest: the object provided is unrecognized: x',
  } as const
  check('/apis/example.com/v1/widgets', { ...unrecognized, theirs: '0' }, 'custom-resource-protobuf')
  check('/apis/events.k8s.io/v1/events', { ...unrecognized, theirs: '0' }, undefined)

  const noKey = '422 Invalid: map: {} does not contain declared merge key: name'
  const noGoKey = '500 : map: map[] does not contain declared merge key: name'
  const merging = { class: 'status', place: 'status', ours: noKey, theirs: noGoKey } as const
  check('/api/v1/namespaces/a/pods/b', merging, 'strategic-patch-errors', { method: 'PATCH' })
  check('/api/v1/namespaces/a/pods/b', { ...merging, theirs: '500 : other' }, undefined, { method: 'PATCH' })

  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
  const rules = { place: '/items/0/rules', ours: [{}], theirs: null }
  check(roles, rules, 'aggregated-roles')
  check(roles, { ...rules, theirs: [] }, undefined)
  check(roles, { ...rules, place: '/items/0/metadata' }, undefined)

  const [ok, failed] = ['[+]ping ok\n[+]etcd-alarm/stall ok\n', '[+]ping ok\n[-]etcd failed\n']
  check(
    '/livez?verbose',
    { ours: ok, theirs: '[+]loopback-serving-certificate ok\n[+]ping ok\n' },
    'health-checks',
  )
  const listed = { place: '/paths', ours: ['/api', '/livez/etcd-alarm/stall'] }
  check('/', { ...listed, theirs: ['/api', '/livez/loopback-serving-certificate'] }, 'health-checks')
  check('/', { ...listed, theirs: ['/api', '/livez/other'] }, undefined)
  const message = { place: '', ours: '\n\u00032.0a', theirs: '\n\u00032.0b' }
  check('/openapi/v2', message, 'openapi-descriptions')
  check('/openapi/v2', { ...message, ours: '' }, undefined)
  check('/livez?verbose', { ours: ok, theirs: failed }, undefined)
})
