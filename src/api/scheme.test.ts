import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtinResources, defaultResources } from './builtin.ts'
import { pods } from './generated/core/v1-resources.ts'
import type { Resource } from './resource.ts'
import { Scheme, type SchemeChange } from './scheme.ts'

/** A custom resource: `example.com/v1 widgets Widget`. */
function custom(text: string, changes: Partial<Resource> = {}): Resource {
  const [apiVersion = '', plural = '', kind = ''] = text.split(' ')
  const [group = '', version = ''] = apiVersion.split('/')
  return {
    ...pods,
    group,
    version,
    kind,
    plural,
    singular: kind.toLowerCase(),
    listKind: `${kind}List`,
    shortNames: [],
    categories: [],
    storage: { group, version: 'v1' },
    ...changes,
  }
}

function show(resources: readonly Resource[]): string {
  return resources.map(({ group, version, plural }) => `${group}/${version}/${plural}`).join(' ')
}

test('a resource is found by kind and by plural in its version', () => {
  const scheme = new Scheme(defaultResources())
  assert.equal(scheme.byKind({ group: '', version: 'v1', kind: 'Pod' }), pods)
  assert.equal(scheme.byResource({ group: '', version: 'v1', resource: 'pods' }), pods)
  assert.equal(scheme.byKind({ group: '', version: 'v2', kind: 'Pod' }), undefined)
  assert.equal(scheme.byResource({ group: '', version: 'v1', resource: '__proto__' }), undefined)
})

test('resources are found by plural, singular or short name, preferring the requested group and version', () => {
  const scheme = new Scheme(builtinResources())
  const check = (name: string, expected: string): void => assert.equal(show(scheme.named(name)), expected)
  check('po', '/v1/pods')
  check('pod', '/v1/pods')
  check('PODS', '/v1/pods')
  check('endpoints', '/v1/endpoints')
  check('ev', '/v1/events events.k8s.io/v1/events')
  check('hpa', 'autoscaling/v2/horizontalpodautoscalers autoscaling/v1/horizontalpodautoscalers')
  check(
    'leasecandidate',
    'coordination.k8s.io/v1beta1/leasecandidates coordination.k8s.io/v1alpha2/leasecandidates',
  )
  for (const name of ['nothing', '', 'constructor', '__proto__']) check(name, '')
})

test('categories list each resource once, in its preferred version', () => {
  const scheme = new Scheme(defaultResources())
  assert.equal(
    show(scheme.inCategory('all')),
    [
      '/v1/pods',
      '/v1/replicationcontrollers',
      '/v1/services',
      'apps/v1/daemonsets',
      'apps/v1/deployments',
      'apps/v1/replicasets',
      'apps/v1/statefulsets',
      'autoscaling/v2/horizontalpodautoscalers',
      'batch/v1/cronjobs',
      'batch/v1/jobs',
    ].join(' '),
  )
})

test('groups are in discovery order, custom groups by name, versions by priority', () => {
  const scheme = new Scheme([
    custom('b.example/v1beta1 widgets Widget'),
    custom('a.example/v1 things Thing'),
    custom('b.example/v1 widgets Widget'),
    ...defaultResources(),
  ])
  const groups = scheme.groups()
  assert.deepEqual(
    groups.slice(0, 3).map(group => group.name),
    ['', 'apiregistration.k8s.io', 'apps'],
  )
  const versions = groups
    .slice(-2)
    .map(group => `${group.name}: ${group.versions.map(each => each.version).join(' ')}`)
  assert.deepEqual(versions, ['a.example: v1', 'b.example: v1 v1beta1'])
  assert.equal(
    show(groups.flatMap(group => group.versions.flatMap(each => each.resources))),
    show(scheme.resources()),
  )
  assert.equal(
    show(scheme.resourcesIn({ group: 'b.example', version: 'v1beta1' })),
    'b.example/v1beta1/widgets',
  )
  assert.deepEqual(scheme.resourcesIn({ group: 'b.example', version: 'v2' }), [])
  assert.equal(
    show(scheme.versionsOf({ group: 'b.example', kind: 'Widget' })),
    'b.example/v1/widgets b.example/v1beta1/widgets',
  )
})

test('registering and unregistering takes effect at once and notifies once', () => {
  const scheme = new Scheme(defaultResources())
  const changes: string[] = []
  const stop = scheme.onChange(({ added, removed }: SchemeChange) => {
    changes.push(`+${show(added)} -${show(removed)}`)
    assert.ok(added.every(each => scheme.resources().includes(each)))
  })
  const old = custom('example.com/v1 widgets Widget', { shortNames: ['w'] })
  const other = custom('example.com/v1beta1 widgets Widget')
  scheme.register(old, other)
  assert.equal(show(scheme.named('w')), 'example.com/v1/widgets')
  const replacement = custom('example.com/v1 widgets Widget', { shortNames: ['wd'] })
  scheme.register(replacement)
  assert.equal(show(scheme.named('w')), '')
  assert.equal(scheme.byKind({ group: 'example.com', version: 'v1', kind: 'Widget' }), replacement)
  scheme.register(replacement)
  scheme.unregister({ group: 'example.com', version: 'v2', resource: 'widgets' })
  scheme.unregister({ group: 'example.com', version: 'v1', resource: 'widgets' })
  scheme.change({ add: [old], remove: [{ group: 'example.com', version: 'v1beta1', resource: 'widgets' }] })
  stop()
  scheme.unregister({ group: 'example.com', version: 'v1', resource: 'widgets' })
  assert.equal(
    scheme.groups().some(group => group.name === 'example.com'),
    false,
  )
  assert.deepEqual(changes, [
    '+example.com/v1/widgets example.com/v1beta1/widgets -',
    '+example.com/v1/widgets -example.com/v1/widgets',
    '+ -example.com/v1/widgets',
    '+example.com/v1/widgets -example.com/v1beta1/widgets',
  ])
})

test('a change keeps the groups and versions that it does not affect', () => {
  const scheme = new Scheme([
    custom('a.example/v1 things Thing'),
    custom('b.example/v1 widgets Widget'),
    custom('b.example/v1beta1 widgets Widget'),
  ])
  const [things, widgets] = scheme.groups()
  scheme.register(custom('b.example/v1beta1 gadgets Gadget'), custom('aa.example/v1 others Other'))
  const [thingsAfter, , widgetsAfter] = scheme.groups()
  assert.deepEqual(
    scheme.groups().map(({ name }) => name),
    ['a.example', 'aa.example', 'b.example'],
  )
  assert.equal(thingsAfter, things)
  assert.notEqual(widgetsAfter, widgets)
  assert.equal(widgetsAfter?.versions[0], widgets?.versions[0])
  assert.equal(
    show(widgetsAfter?.versions[1]?.resources ?? []),
    'b.example/v1beta1/gadgets b.example/v1beta1/widgets',
  )
})

test('schemes are independent', () => {
  const [one, two] = [new Scheme(defaultResources()), new Scheme(defaultResources())]
  one.unregister({ group: '', version: 'v1', resource: 'pods' })
  assert.deepEqual(one.named('pods'), [])
  assert.deepEqual(two.named('pods'), [pods])
})

test('conflicting registrations are rejected without effect', () => {
  const scheme = new Scheme([custom('example.com/v1 widgets Widget')])
  const before = scheme.resources()
  const refused = [
    custom('example.com/v1 wadgets Widget'),
    custom('example.com/v1beta1 widgets Widget', { storage: { group: 'example.com', version: 'v1beta1' } }),
  ]
  for (const resource of refused) assert.throws(() => scheme.register(resource), { name: 'AssertionError' })
  const twice = custom('example.com/v2 widgets Widget')
  assert.throws(() => scheme.register(twice, { ...twice }), /duplicate plural/)
  assert.equal(scheme.resources(), before)
})

test('extensions apply to existing and future resources', () => {
  const widgets = custom('example.com/v1 widgets Widget')
  const scheme = new Scheme([pods])
  const made = new Map<Resource, Resource>()
  scheme.extend(resource => {
    const extended = made.get(resource) ?? { ...resource, categories: [...resource.categories, 'more'] }
    made.set(resource, extended)
    return extended
  })
  const changes: SchemeChange[] = []
  scheme.onChange(change => changes.push(change))
  scheme.register(widgets)
  scheme.register(widgets)
  assert.equal(show(scheme.inCategory('more')), '/v1/pods example.com/v1/widgets')
  assert.deepEqual(changes, [{ added: [made.get(widgets)], removed: [] }])
  scheme.unregister({ group: 'example.com', version: 'v1', resource: 'widgets' })
  assert.deepEqual(changes[1], { added: [], removed: [made.get(widgets)] })
  assert.equal(new Scheme([pods]).inCategory('more').length, 0)
})
