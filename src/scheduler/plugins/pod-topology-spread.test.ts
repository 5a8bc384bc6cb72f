import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { replicaSets, statefulSets } from '#/api/generated/apps/v1-resources.ts'
import type { Pod, PodSpec, TopologySpreadConstraint } from '#/api/generated/core/v1.ts'
import { namespaces, replicationControllers, services } from '#/api/generated/core/v1-resources.ts'
import { labelOf } from '#/api/labels.ts'
import { compileLabelSelector } from '#/api/selectors/selector.ts'
import type { Stored } from '#/api/metadata.ts'
import type { FilterState, Unschedulable } from '../framework.ts'
import type { NodeInfo } from '../node-info.ts'
import { podInfoOf, type PodInfo } from '../pod-info.ts'
import { profileOf, type ProfileFactory } from '../profile.ts'
import { nodeOf, podOf, startTestCluster, stored } from '../test-cluster.ts'
import { defaultBinder } from './default-binder.ts'
import { podTopologySpread } from './pod-topology-spread.ts'
import { prioritySort } from './priority-sort.ts'
import {
  byName,
  cacheOf,
  filterResults,
  parseNode,
  parsePod,
  parseSelector,
  queueingHintOf,
  startPluginWorld,
  topologyKeyOf,
} from './test-world.ts'

const world = await startPluginWorld()
const plugin = podTopologySpread(world.handle, {})
await world.create(namespaces, { metadata: { name: 'test' } })

/** `zone<=1 app=web min=3` is DoNotSchedule, `zone~1 app=web` is ScheduleAnyway. */
function parseConstraint(text: string): TopologySpreadConstraint {
  const [what = '', selector = '', ...options] = text.split(' ')
  const [key = '', skew = ''] = what.split(/<=|~/)
  const option = (name: string): string | undefined =>
    options.find(each => each.startsWith(`${name}=`))?.slice(name.length + 1)
  const [minDomains, keys] = [option('min'), option('keys')]
  const [nodeAffinityPolicy, nodeTaintsPolicy] = [option('affinity'), option('taints')]
  return {
    topologyKey: topologyKeyOf(key),
    maxSkew: Number(skew),
    whenUnsatisfiable: what.includes('~') ? 'ScheduleAnyway' : 'DoNotSchedule',
    ...(selector !== '-' && { labelSelector: parseSelector(selector) }),
    ...(minDomains !== undefined && { minDomains: Number(minDomains) }),
    ...(keys !== undefined && { matchLabelKeys: [keys] }),
    ...(nodeAffinityPolicy !== undefined && { nodeAffinityPolicy }),
    ...(nodeTaintsPolicy !== undefined && { nodeTaintsPolicy }),
  }
}

/** `app=web: zone<=1 app=web & host<=2 app=web`. */
function parseSpreadPod(name: string, text: string, spec: Partial<PodSpec> = {}): Stored<Pod> {
  const [head = '', constraints = ''] = text.split(': ')
  const pod = parsePod(name, head)
  const topologySpreadConstraints = constraints
    .split(' & ')
    .filter(each => each !== '')
    .map(parseConstraint)
  return { ...pod, spec: { ...pod.spec!, ...spec, topologySpreadConstraints } }
}

function textOf(status: Unschedulable | undefined): string {
  if (status === undefined) return 'ok'
  const text = "node(s) didn't match pod topology spread constraints"
  if (status.reason === text && !status.isUnresolvable) return 'skew'
  return status.reason === `${text} (missing required label)` && status.isUnresolvable
    ? 'label'
    : status.reason
}

const answersOf = (state: FilterState | Unschedulable | undefined, nodes: readonly NodeInfo[]): string =>
  filterResults(state, nodes, textOf)

function check(lines: readonly string[], pod: string, expected: string, spec: Partial<PodSpec> = {}): void {
  const snapshot = cacheOf(lines).snapshot()
  const info = podInfoOf(parseSpreadPod('new', pod, spec))
  assert.equal(answersOf(plugin.preFilter?.(info, snapshot), snapshot.nodes), expected, pod)
}

test('a domain that would exceed maxSkew is infeasible', () => {
  const nodes = ['n1 zone=a: app=web; app=web', 'n2 zone=a', 'n3 zone=b: app=web', 'n4 zone=b: app=db']
  check(nodes, 'app=web: zone<=1 app=web', 'n1 skew, n2 skew, n3 ok, n4 ok')
  check(nodes, 'app=web: zone<=2 app=web', 'n1 ok, n2 ok, n3 ok, n4 ok')
  check(nodes, 'app=web: host<=1 app=web', 'n1 skew, n2 ok, n3 skew, n4 ok')
  check(nodes, 'app=web: host<=2 app=web & zone<=1 app=web', 'n1 skew, n2 skew, n3 ok, n4 ok')
  check(nodes, 'app=web: host<=1 app=web & zone<=1 app=web', 'n1 skew, n2 skew, n3 skew, n4 ok')
  check(nodes, 'app=web: zone~1 app=web', 'nothing to say')
  check(nodes, 'app=web', 'nothing to say')
})

test('a pod that does not match its own selector does not add to the skew', () => {
  const nodes = ['n1 zone=a: app=web', 'n2 zone=b']
  check(nodes, 'app=db: zone<=1 app=web', 'n1 ok, n2 ok')
  check(nodes, 'app=web: zone<=1 app=web', 'n1 skew, n2 ok')
})

test('only matching pods of the namespace that are not being deleted count', () => {
  check(['n1 zone=a: test/app=web', 'n2 zone=b'], 'app=web: zone<=1 app=web', 'n1 ok, n2 ok')
  check(['n1 zone=a: app=web†', 'n2 zone=b'], 'app=web: zone<=1 app=web', 'n1 ok, n2 ok')
  check(['n1 zone=a: app=web,v=1', 'n2 zone=b'], 'app=web,v=2: zone<=1 app=web keys=v', 'n1 ok, n2 ok')
  check(['n1 zone=a: app=web,v=1', 'n2 zone=b'], 'app=web,v=1: zone<=1 app=web keys=v', 'n1 skew, n2 ok')
  check(['n1 zone=a: app=web,v=1', 'n2 zone=b'], 'app=web: zone<=1 app=web keys=v', 'n1 skew, n2 ok')
  // An empty selector counts no pods, and so does an absent one.
  check(['n1 zone=a: app=web; app=web', 'n2 zone=b'], 'app=web: zone<=1 *', 'n1 ok, n2 ok')
  check(['n1 zone=a: app=web; app=web', 'n2 zone=b'], 'app=web: zone<=1 -', 'n1 ok, n2 ok')
})

test('nodes without a topology key are infeasible and do not count', () => {
  check(['n1 zone=a: app=web', 'n2', 'n3 zone=b'], 'app=web: zone<=1 app=web', 'n1 skew, n2 label, n3 ok')
  const nodes = ['n1 zone=a,rack=1: app=web', 'n2 zone=b', 'n3 zone=c,rack=2: app=web']
  check(nodes, 'app=web: zone<=1 app=web', 'n1 skew, n2 ok, n3 skew')
  check(nodes, 'app=web: zone<=1 app=web & rack<=1 app=web', 'n1 ok, n2 label, n3 ok')
})

test('fewer domains than minDomains count as an empty domain', () => {
  const nodes = ['n1 zone=a: app=web', 'n2 zone=b: app=web']
  check(nodes, 'app=web: zone<=1 app=web min=2', 'n1 ok, n2 ok')
  check(nodes, 'app=web: zone<=1 app=web min=3', 'n1 skew, n2 skew')
  check(nodes, 'app=web: zone<=2 app=web min=3', 'n1 ok, n2 ok')
})

test('nodeAffinityPolicy and nodeTaintsPolicy decide which nodes count', () => {
  const nodes = ['n1 zone=a,disk=ssd: app=web', 'n2 zone=b,disk=ssd: app=web', 'n3 zone=c,disk=hdd']
  const selecting = { nodeSelector: { disk: 'ssd' } }
  check(nodes, 'app=web: zone<=1 app=web', 'n1 ok, n2 ok, n3 ok', selecting)
  check(nodes, 'app=web: zone<=1 app=web affinity=Ignore', 'n1 skew, n2 skew, n3 ok', selecting)
  check(nodes, 'app=web: zone<=1 app=web', 'n1 skew, n2 skew, n3 ok')
  const terms = [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }]
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } }
  check(nodes, 'app=web: zone<=1 app=web', 'n1 ok, n2 ok, n3 ok', { affinity: { nodeAffinity: required } })
  const tainted = ['n1 zone=a: app=web', 'n2 zone=b!']
  check(tainted, 'app=web: zone<=1 app=web', 'n1 skew, n2 ok')
  check(tainted, 'app=web: zone<=1 app=web taints=Honor', 'n1 ok, n2 ok')
  const tolerations = [{ key: 'closed', operator: 'Exists' }]
  check(tainted, 'app=web: zone<=1 app=web taints=Honor', 'n1 skew, n2 ok', { tolerations })
})

function checkScores(
  lines: readonly string[],
  pod: Pod,
  expected: string,
  args: Readonly<Record<string, unknown>> = {},
): void {
  const snapshot = cacheOf(lines).snapshot()
  const nodes = byName(snapshot.nodes)
  const made = podTopologySpread(world.handle, args)
  const state = made.score?.(podInfoOf(stored(pod)), snapshot, nodes)
  if (state === undefined) return assert.equal('nothing to say', expected)
  const scores = Float64Array.from(nodes, node => state.score(node))
  const raw = scores.join(' ')
  state.normalizeScore?.(scores)
  assert.equal(`${raw} > ${scores.join(' ')}`, expected)
}

test('nodes in domains with fewer pods score higher', () => {
  const pod = (text: string): Pod => parseSpreadPod('new', text)
  const nodes = [
    'n1 zone=a: app=web; app=web',
    'n2 zone=a: app=web',
    'n3 zone=b',
    'n4 zone=b: app=web; app=web; app=web',
  ]
  checkScores(nodes, pod('app=web: host~1 app=web'), '4 2 0 5 > 20 60 100 0')
  checkScores(nodes, pod('app=web: zone~1 app=web'), '4 4 4 4 > 100 100 100 100')
  checkScores(nodes, pod('app=web: zone~1 app=web & host~3 app=web'), '10 8 6 12 > 66 83 100 50')
  checkScores(nodes, pod('app=web: zone~1 app=none'), '0 0 0 0 > 100 100 100 100')
  checkScores(nodes, pod('app=web: zone<=1 app=web'), 'nothing to say')
  checkScores(nodes, pod('app=web'), 'nothing to say')
})

test('nodes without a topology key score lowest', () => {
  const nodes = ['n1 zone=a: app=web', 'n2 zone=b', 'n3']
  const pod = parseSpreadPod('new', 'app=web: zone~1 app=web')
  checkScores(nodes, pod, '1 0 -1 > 0 100 0')
  checkScores(['n1', 'n2'], pod, '-1 -1 > 0 0')
})

const owned = (kind: string, apiVersion: string): Pod => {
  const pod = podOf('new', { labels: { app: 'web', version: '1' } })
  const reference = { apiVersion, kind, name: 'web', uid: '1', controller: true }
  return { ...pod, metadata: { ...pod.metadata, ownerReferences: [reference] } }
}

test('pods of a workload are spread by default constraints', async () => {
  const nodes = ['n1 zone=a: app=web; app=web', 'n2 zone=a', 'n3 zone=b', 'n4']
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'web', image: 'web' }] },
  }
  const metadata = { name: 'web', namespace: 'default' }
  const set = { metadata, spec: { selector: { matchLabels: { app: 'web' } }, template } }
  // Two pods per node weigh log(6), and per zone log(5), where nodes without a zone form one domain.
  const expected = '13 9 6 2 > 15 46 69 100'
  checkScores(nodes, owned('ReplicaSet', 'apps/v1'), 'nothing to say')
  await world.create(replicaSets, set)
  checkScores(nodes, owned('ReplicaSet', 'apps/v1'), expected)
  checkScores(nodes, owned('ReplicaSet', 'example.com/v1'), 'nothing to say')
  checkScores(nodes, podOf('new', { labels: { app: 'web' } }), 'nothing to say')
  await world.create(statefulSets, { ...set, spec: { ...set.spec, serviceName: 'web' } })
  checkScores(nodes, owned('StatefulSet', 'apps/v1'), expected)
  await world.create(replicationControllers, { metadata, spec: { selector: { app: 'web' }, template } })
  checkScores(nodes, owned('ReplicationController', 'v1'), expected)
  await world.create(services, { metadata, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } })
  checkScores(nodes, podOf('new', { labels: { app: 'web' } }), expected)
  checkScores(nodes, podOf('new', { labels: { app: 'db' } }), 'nothing to say')
  // Selectors of the service and the owner are combined.
  checkScores(['n1: app=web', 'n2: app=web,version=1'], owned('ReplicaSet', 'apps/v1'), '3 3 > 100 100')
  await world.create(services, {
    metadata: { ...metadata, name: 'v1' },
    spec: { selector: { version: '1' }, ports: [{ port: 80 }] },
  })
  checkScores(['n1: app=web', 'n2: app=web,version=1'], owned('ReplicaSet', 'apps/v1'), '2 3 > 100 66')
  checkScores(nodes, parseSpreadPod('new', 'app=web: zone<=1 app=web'), 'nothing to say')
  checkScores(nodes, owned('ReplicaSet', 'apps/v1'), 'nothing to say', { defaultingType: 'List' })
})

test('defaultConstraints apply to pods without constraints', () => {
  const args = {
    defaultingType: 'List',
    defaultConstraints: [parseConstraint('zone<=1 -'), parseConstraint('zone~1 -')],
  }
  const made = podTopologySpread(world.handle, args)
  const snapshot = cacheOf(['n1 zone=a: app=web', 'n2 zone=b', 'n3']).snapshot()
  const filtered = made.preFilter?.(podInfoOf(stored(podOf('new', { labels: { app: 'web' } }))), snapshot)
  assert.equal(answersOf(filtered, snapshot.nodes), 'n1 skew, n2 ok, n3 label')
  checkScores(
    ['n1 zone=a: app=web', 'n2 zone=b', 'n3'],
    podOf('new', { labels: { app: 'web' } }),
    '1 0 -1 > 0 100 0',
    args,
  )
})

test('invalid defaultConstraints are rejected', () => {
  const checkInvalid = (args: Readonly<Record<string, unknown>>, message: string): void => {
    assert.throws(() => podTopologySpread(world.handle, args), { message })
  }
  const list = (...texts: string[]) => ({
    defaultingType: 'List',
    defaultConstraints: texts.map(parseConstraint),
  })
  checkInvalid(
    { defaultingType: 'Some' },
    'defaultingType: Unsupported value: "Some": supported values: "System", "List"',
  )
  checkInvalid(
    { defaultConstraints: [parseConstraint('zone~1 -')] },
    'defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
  )
  checkInvalid(
    list('zone<=0 -'),
    'defaultConstraints[0].maxSkew: Invalid value: 0: not in valid range (0, inf)',
  )
  checkInvalid(list('<=1 -'), 'defaultConstraints[0].topologyKey: Required value: can not be empty')
  checkInvalid(
    list('zone~1 app=web'),
    'defaultConstraints[0].labelSelector: Forbidden: ' +
      'constraint must not define a selector, as they deduced for each pod',
  )
  checkInvalid(
    list('zone~1 -', 'zone<=1 -', 'zone~2 -'),
    'defaultConstraints[2]: Duplicate value: "{topology.kubernetes.io/zone, ScheduleAnyway}"',
  )
})

function checkHelp(pod: string, change: string, expected: boolean): void {
  assert.equal(queueingHintOf(plugin, parseSpreadPod('new', pod), change), expected, `${pod}: ${change}`)
}

test('PodTopologySpread: queueing hints of pod and node events', () => {
  const pod = 'app=web: zone<=1 app=web'
  checkHelp(pod, 'none -> app=web', true)
  checkHelp(pod, 'none -> app=db', false)
  checkHelp(pod, 'none -> test/app=web', false)
  checkHelp(pod, 'app=web -> gone', true)
  checkHelp(pod, 'app=web† -> gone', true)
  checkHelp(pod, 'app=db -> gone', false)
  checkHelp(pod, 'app=web -> app=db', true)
  checkHelp(pod, 'app=web -> app=web†', true)
  checkHelp(pod, 'app=web -> app=web,x=y', false)
  checkHelp(pod, 'none -> node1 zone=a', true)
  checkHelp(pod, 'none -> node1', false)
  checkHelp(pod, 'node1 zone=a -> gone', true)
  checkHelp(pod, 'node1 zone=a -> node1 zone=b', true)
  checkHelp(pod, 'node1 zone=a -> node1', true)
  checkHelp(pod, 'node1 zone=a -> node1 zone=a!', true)
  checkHelp(pod, 'node1 zone=a -> node1 zone=a,x=y', false)
  checkHelp(pod, 'node1 -> node1 x=y', false)
})

/** Reference implementation: checks each pod on each node. */
function statusByDefinition(
  { pod, labels, namespace }: PodInfo,
  node: NodeInfo,
  nodes: readonly NodeInfo[],
): string {
  const constraints = pod.spec?.topologySpreadConstraints ?? []
  const eligible = nodes.filter(each =>
    constraints.every(({ topologyKey }) => labelOf(each.labels, topologyKey) !== undefined),
  )
  for (const { topologyKey, maxSkew, minDomains = 1, labelSelector, nodeTaintsPolicy } of constraints) {
    const value = labelOf(node.labels, topologyKey)
    if (value === undefined) return 'label'
    const selector = compileLabelSelector(labelSelector)
    const counts = new Map<string, number>()
    for (const each of eligible) {
      if (nodeTaintsPolicy === 'Honor' && each.node.spec?.taints !== undefined) continue
      const count = each.pods.filter(
        other => other.namespace === namespace && selector.matches(other.labels),
      ).length
      const domain = labelOf(each.labels, topologyKey)!
      counts.set(domain, (counts.get(domain) ?? 0) + count)
    }
    const least = counts.size < minDomains ? 0 : Math.min(...counts.values())
    if ((counts.get(value) ?? 0) + (selector.matches(labels) ? 1 : 0) - least > maxSkew) return 'skew'
  }
  return 'ok'
}

const podText = fc
  .tuple(fc.constantFrom('', 'test/'), fc.constantFrom('app=a', 'app=b', 'app=a,x=y'))
  .map(parts => parts.join(''))
const newPod = fc
  .tuple(
    podText,
    fc.constantFrom('zone<=1 app=a', 'zone<=1 app=a min=3', 'host<=1 app=a', 'host<=2 app=a taints=Honor'),
    fc.constantFrom('', ' & rack<=1 app=b', ' & zone<=2 x=y taints=Honor'),
  )
  .map(([head, first, more]) => `${head}: ${first}${more}`)
const nodeLabels = fc
  .tuple(
    fc.constantFrom('zone=1', 'zone=2', 'zone=3', 'x=y'),
    fc.constantFrom('', ',rack=1', ',rack=2'),
    fc.constantFrom('', '', '!'),
  )
  .map(parts => parts.join(''))
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ pod: podText, on: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ gone: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ node: fc.nat(5), labels: nodeLabels }) },
  { weight: 1, arbitrary: fc.record({ lost: fc.nat(5) }) },
)
const startingNodes = ['n0 zone=1,rack=1', 'n1 zone=1,rack=2', 'n2 zone=2', 'n3 x=y', 'n4 zone=3,rack=1!']

test('property: incremental counts equal those by definition', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 25 }), newPod, (steps, text) => {
      const cache = cacheOf(startingNodes)
      const pod = podInfoOf(parseSpreadPod('new', text))
      for (const [index, each] of steps.entries()) {
        if ('pod' in each) cache.assume(podInfoOf(parsePod(`p${index}`, each.pod)), `n${each.on}`)
        else if ('gone' in each) cache.removePod(parsePod(`p${each.gone}`, ''))
        else if ('node' in each) cache.setNode(parseNode(`n${each.node} ${each.labels}`))
        else cache.removeNode(`n${each.lost}`)
        const { nodes } = cache.snapshot()
        const expected = byName(nodes).map(node => `${node.name} ${statusByDefinition(pod, node, nodes)}`)
        assert.equal(answersOf(plugin.preFilter?.(pod, cache.snapshot()), nodes), expected.join(', '))
      }
    }),
    { numRuns: 60 },
  )
})

test('property: addPod and removePod of several pods equal a new filter state', () => {
  const placed = fc.array(fc.tuple(podText, fc.nat(4)), { minLength: 2, maxLength: 12 })
  fc.assert(
    fc.property(placed, newPod, (pods, text) => {
      const [cache, other] = [cacheOf(startingNodes), cacheOf(startingNodes)]
      const all = pods.map(([each, on], index) => ({
        info: podInfoOf(parsePod(`p${index}`, each)),
        node: `n${on}`,
      }))
      for (const { info, node } of all.slice(2)) cache.assume(info, node)
      for (const { info, node } of all) other.assume(info, node)
      const pod = podInfoOf(parseSpreadPod('new', text))
      const [without, beside] = [cache.snapshot(), other.snapshot()]
      const [state, stateBeside] = [plugin.preFilter?.(pod, without), plugin.preFilter?.(pod, beside)]
      assert.ok(
        state !== undefined && 'filter' in state && stateBeside !== undefined && 'filter' in stateBeside,
      )
      const moved = all.slice(0, 2)
      const tried = moved.reduce((now, { info, node }) => now.addPod!(info, beside.get(node)!), state)
      assert.equal(answersOf(tried, without.nodes), answersOf(stateBeside, beside.nodes))
      const undone = moved.reduce(
        (now, { info, node }) => now.removePod!(info, without.get(node)!),
        stateBeside,
      )
      assert.equal(answersOf(undone, beside.nodes), answersOf(state, without.nodes))
    }),
    { numRuns: 200 },
  )
})

test('property: maxSkew is never exceeded', () => {
  const zones = fc.array(fc.nat(3), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(
      zones,
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.nat(1_000), { maxLength: 25 }),
      (places, maxSkew, choices) => {
        const cache = cacheOf(places.map((zone, index) => `n${index} zone=${zone}`))
        for (const [index, choice] of choices.entries()) {
          const snapshot = cache.snapshot()
          const pod = podInfoOf(parseSpreadPod(`p${index}`, `app=a: zone<=${maxSkew} app=a & host<=2 app=a`))
          const state = plugin.preFilter?.(pod, snapshot)
          assert.ok(state !== undefined && 'filter' in state)
          const allowed = snapshot.nodes.filter(node => state.filter(node) === undefined)
          const chosen = allowed[choice % Math.max(1, allowed.length)]
          if (chosen === undefined) continue
          cache.assume(pod, chosen.name)
          const { nodes } = cache.snapshot()
          const byZone = Map.groupBy(nodes, ({ labels }) => labels['topology.kubernetes.io/zone'])
          const inZones = [...byZone.values()].map(zone =>
            zone.reduce((sum, { pods }) => sum + pods.length, 0),
          )
          assert.ok(Math.max(...inZones) - Math.min(...inZones) <= maxSkew)
          const onNodes = nodes.map(({ pods }) => pods.length)
          assert.ok(Math.max(...onNodes) - Math.min(...onNodes) <= 2)
        }
      },
    ),
    { numRuns: 50 },
  )
})

test('pods are spread over zones, and an unschedulable one has the reason', async t => {
  const profiles: ProfileFactory = handle => {
    const plugins = [prioritySort, podTopologySpread, defaultBinder].map(make => ({
      plugin: make(handle, {}),
      weight: 1,
    }))
    return [profileOf({ schedulerName: 'default-scheduler', plugins, percentageOfNodesToScore: 0 })]
  }
  const cluster = await startTestCluster(t, { profiles })
  const zone = (name: string) => ({ labels: { 'topology.kubernetes.io/zone': name } })
  await cluster.addNodes(nodeOf('n1', zone('a')), nodeOf('n2', zone('a')), nodeOf('n3', zone('b')))
  await cluster.create(services, {
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  })
  await cluster.addPods(...['a', 'b', 'c'].map(name => podOf(name, { labels: { app: 'web' } })))
  assert.deepEqual(Object.values(await cluster.places()).toSorted(), ['n1', 'n2', 'n3'])
  const topologySpreadConstraints = [parseConstraint('zone<=1 app=web min=3')]
  await cluster.addPods(podOf('d', { labels: { app: 'web' }, topologySpreadConstraints }))
  const { status } = await cluster.getPod('d')
  assert.equal(
    status?.conditions?.find(({ type }) => type === 'PodScheduled')?.message,
    "0/3 nodes are available: 3 node(s) didn't match pod topology spread constraints.",
  )
  await cluster.addNodes(nodeOf('n4', zone('c')))
  await cluster.advance(10_000)
  assert.equal((await cluster.getPod('d')).spec?.nodeName, 'n4')
})
