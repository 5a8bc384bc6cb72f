import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { Simulation } from '#/platform/simulated.ts'
import {
  readSchedulerConfiguration,
  readSchedulerPolicy,
  type ConfigurationContext,
  type SchedulerConfiguration,
} from './configuration.ts'
import type { PluginFactory } from './framework.ts'
import { emptySnapshot } from './snapshot.ts'
import { nodeOf, podOf, startTestCluster, type TestCluster } from './test-cluster.ts'
import { testExtender } from './test-extender.ts'
import { startPluginWorld } from './plugins/test-world.ts'

const world = await startPluginWorld()

const head = 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n'

const modules: Readonly<Record<string, unknown>> = {
  '/etc/k8ts/./last-letter.ts': { default: lastLetter },
  '/etc/k8ts/./other-name.ts': { default: () => ({ name: 'Other' }) },
  '/etc/k8ts/./nothing.ts': {},
}

/** A plugin that prefers nodes with names ending with the letter. */
function lastLetter(...[, { letter }]: Parameters<PluginFactory>): ReturnType<PluginFactory> {
  return {
    name: 'LastLetter',
    score: () => ({ score: ({ name }) => (name.endsWith(String(letter)) ? 100 : 0) }),
  }
}

function contextOf(platform = new Simulation({ seed: 1 }).host('a')): ConfigurationContext {
  return {
    platform,
    connectHttp: testExtender(() => undefined).connectHttp,
    folder: '/etc/k8ts',
    importModule: async specifier => {
      if (!(specifier in modules)) throw new Error('there is no such file')
      return modules[specifier]
    },
  }
}

/** Creates the profiles too, since plugins validate their args then. */
async function errorOf(read: Promise<SchedulerConfiguration>): Promise<string> {
  try {
    const configuration = await read
    configuration.profiles({ ...world.handle, snapshot: () => emptySnapshot })
    return ''
  } catch (error) {
    assert.ok(error instanceof Error && error.name === 'ConfigurationError', String(error))
    return error.message
  }
}

const profile = (text: string): string => `profiles:\n- ${text.replaceAll('\n', '\n  ')}\n`
const args = (plugin: string, text: string): string =>
  profile(`pluginConfig:\n- name: ${plugin}\n  args: {${text}}`)

const good: readonly [string, string][] = [
  ['nothing', ''],
  ['everything at the top', 'parallelism: 8\npercentageOfNodesToScore: 30\npodInitialBackoffSeconds: 2'],
  ['leader election', 'leaderElection: {leaderElect: false, leaseDuration: 0s}\nenableProfiling: true'],
  [
    'parameters of every plugin',
    profile(`pluginConfig:
- name: DefaultPreemption
  args: {apiVersion: kubescheduler.config.k8s.io/v1, kind: DefaultPreemptionArgs, minCandidateNodesAbsolute: 5}
- name: InterPodAffinity
  args: {hardPodAffinityWeight: 5, ignorePreferredTermsOfExistingPods: true}
- name: NodeAffinity
  args: {addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
    {matchExpressions: [{key: a, operator: Exists}]}]}}}
- name: NodeResourcesBalancedAllocation
  args: {resources: [{name: cpu, weight: 1}, {name: memory}]}
- name: NodeResourcesFit
  args: {ignoredResources: [example.com/a], scoringStrategy: {type: RequestedToCapacityRatio,
    requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]}}}
- name: PodTopologySpread
  args: {defaultingType: List, defaultConstraints: [
    {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]}
- name: VolumeBinding
  args: {bindTimeoutSeconds: 60}
- name: DynamicResources
  args: {filterTimeout: 5s}
- name: SomebodyElses
  args: {anything: [goes]}`),
  ],
  [
    'an extender',
    'extenders: [{urlPrefix: "https://a/b", filterVerb: f, enableHTTPS: true, httpTimeout: 1s}]',
  ],
]

for (const [what, text] of good) {
  test(`a configuration with ${what} is read`, async () => {
    assert.equal(await errorOf(readSchedulerConfiguration(`${head}${text}`, contextOf())), '')
  })
}

const reading = 'KubeSchedulerConfiguration in version "v1" cannot be handled as a KubeSchedulerConfiguration'

const bad: readonly [string, string][] = [
  ['profile: []', `${reading}: strict decoding error: unknown field "profile"`],
  [
    profile('plugins: {score: {enable: []}}'),
    `${reading}: strict decoding error: unknown field "profiles[0].plugins.score.enable"`,
  ],
  [args('NodeResourcesFit', 'a: 1'), 'unknown field "profiles[0].pluginConfig[0].args.a"'],
  [
    args('NodeAffinity', 'addedAffinity: {required: {}}'),
    'unknown field "profiles[0].pluginConfig[0].args.addedAffinity.required"',
  ],
  [
    args('NodeResourcesFit', 'kind: InterPodAffinityArgs'),
    'profiles[0].pluginConfig[0].args: args for plugin NodeResourcesFit were not of type NodeResourcesFitArgs.' +
      'kubescheduler.config.k8s.io/v1, got "kubescheduler.config.k8s.io/v1, kind InterPodAffinityArgs"',
  ],
  [
    args('NodeResourcesFit', 'scoringStrategy: {type: Best}'),
    'profiles[0].pluginConfig[0].args: initializing plugin "NodeResourcesFit": scoringStrategy.type: Unsupported ' +
      'value: "Best": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
  ],
  [
    args('NodeResourcesFit', 'scoringStrategy: {type: RequestedToCapacityRatio}'),
    'profiles[0].pluginConfig[0].args: initializing plugin "NodeResourcesFit": ' +
      'scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is ' +
      'RequestedToCapacityRatio',
  ],
  [
    args('NodeResourcesBalancedAllocation', 'resources: [{name: cpu, weight: 2}]'),
    'profiles[0].pluginConfig[0].args: initializing plugin "NodeResourcesBalancedAllocation": ' +
      'resources[0].weight: Invalid value: 2: must be 1',
  ],
  [
    args('InterPodAffinity', 'hardPodAffinityWeight: 101'),
    'profiles[0].pluginConfig[0].args: initializing plugin "InterPodAffinity": hardPodAffinityWeight: ' +
      'Invalid value: 101: not in valid range [0, 100]',
  ],
  [
    'percentageOfNodesToScore: 101',
    'percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]',
  ],
  ['podInitialBackoffSeconds: 0', 'podInitialBackoffSeconds: Invalid value: 0: must be greater than 0'],
  [
    'podInitialBackoffSeconds: 20',
    'podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds',
  ],
  ['parallelism: 0', 'parallelism: Invalid value: 0: should be an integer value greater than zero'],
  ['profiles: [{}, {schedulerName: b}]', 'profiles[0].schedulerName: Required value'],
  [
    'profiles: [{schedulerName: b}, {schedulerName: b}]',
    'profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"',
  ],
  [
    profile('plugins: {filter: {enabled: [{name: None}]}}'),
    'profiles[0].plugins.filter.enabled[0]: plugin "None" does not exist; an out-of-tree plugin needs a ' +
      'pluginConfig entry with an import path',
  ],
  [
    profile('plugins: {score: {enabled: [{name: NodeName}]}}'),
    'profiles[0].plugins.score.enabled[0]: plugin "NodeName" does not extend score plugin',
  ],
  [
    profile('plugins: {filter: {enabled: [{name: EBSLimits}]}}'),
    'profiles[0].plugins.filter.enabled[0]: Invalid value: "EBSLimits": was invalid in version "v1" ' +
      '(KubeSchedulerConfiguration is version "kubescheduler.config.k8s.io/v1")',
  ],
  [
    profile('plugins: {bind: {disabled: [{name: "*"}]}}'),
    'profiles[0].plugins.bind: at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
  ],
  [
    profile('plugins: {queueSort: {disabled: [{name: PrioritySort}]}}'),
    'profiles[0].plugins.queueSort: only one queue sort plugin required for profile with scheduler name ' +
      '"default-scheduler", but got 0',
  ],
  [
    profile('pluginConfig: [{name: A, import: ./missing.ts}]'),
    'profiles[0].pluginConfig[0].import: cannot import "/etc/k8ts/./missing.ts": there is no such file',
  ],
  [
    profile('pluginConfig: [{name: A, import: ./nothing.ts}]'),
    'profiles[0].pluginConfig[0].import: "/etc/k8ts/./nothing.ts" has no default export that is a plugin factory',
  ],
  [
    profile(
      'plugins: {multiPoint: {enabled: [{name: A}]}}\npluginConfig: [{name: A, import: ./other-name.ts}]',
    ),
    'profiles[0].pluginConfig[0].args: initializing plugin "A": the plugin has the name "Other"',
  ],
  ['extenders: [{filterVerb: a}]', 'extenders[0].urlPrefix: Required value'],
  [
    'extenders: [{urlPrefix: "http://a", prioritizeVerb: b}]',
    'extenders[0].weight: Invalid value: 0: must have a positive weight applied to it',
  ],
  [
    'extenders: [{urlPrefix: "http://a", managedResources: [{name: cpu}]}]',
    'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
  ],
  [
    'extenders: [{urlPrefix: "http://a", bindVerb: b}, {urlPrefix: "http://b", bindVerb: b}]',
    'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
  ],
  [
    'leaderElection: {leaseDuration: 5s}',
    'leaderElection.leaseDuration: Invalid value: "5s": must be greater than `RenewDeadline`',
  ],
]

for (const [text, want] of bad) {
  test(`an invalid configuration is rejected: ${text.replaceAll(/\s+/g, ' ')}`, async () => {
    assert.equal(await errorOf(readSchedulerConfiguration(`${head}${text}`, contextOf())), want)
  })
}

test('a file that is not a KubeSchedulerConfiguration is rejected', async () => {
  const odd = [
    '',
    '[]',
    '{',
    'apiVersion: v1',
    'apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration',
    `${head}profiles: {}`,
    `${head}profiles: [${'['.repeat(2_000)}`,
    `${head}__proto__: {profiles: []}`,
    `${head}${profile('pluginConfig: [{name: NodeResourcesFit, args: 7}]')}`,
    `${head}${profile('pluginConfig: [{name: Unknown, args: []}]')}`,
  ]
  for (const text of odd)
    assert.notEqual(await errorOf(readSchedulerConfiguration(text, contextOf())), '', text)
})

async function startWith(t: TestContext, text: string): Promise<TestCluster> {
  const { profiles, backoffMs } = await readSchedulerConfiguration(`${head}${text}`, contextOf())
  return startTestCluster(t, { profiles, backoffMs })
}

/** Two equal nodes; tests put pods on one of them. */
const emptyAndFull = [nodeOf('empty', { cpu: '4' }), nodeOf('full', { cpu: '4' })]
const onFull = (pod: Pod): Pod => ({ ...pod, spec: { ...pod.spec!, nodeName: 'full' } })

test('the scoring strategy and plugin weights of the configuration are used', async t => {
  const spreading = await startWith(t, '')
  const packing = await startWith(
    t,
    profile(`plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 10}]}}
pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]`),
  )
  for (const [cluster, want] of [
    [spreading, 'empty'],
    [packing, 'full'],
  ] as const) {
    await cluster.addNodes(...emptyAndFull)
    await cluster.addPods(
      onFull(podOf('old', { cpu: '2', memory: '4Gi' })),
      podOf('new', { cpu: '1', memory: '1Gi' }),
    )
    assert.equal((await cluster.places())['new'], want)
  }
})

test('two profiles schedule the pods with their schedulerName, each with its plugins', async t => {
  const cluster = await startWith(
    t,
    `profiles:
- schedulerName: default-scheduler
- schedulerName: by-letter
  plugins: {multiPoint: {enabled: [{name: LastLetter, weight: 100}]}}
  pluginConfig: [{name: LastLetter, import: ./last-letter.ts, args: {letter: q}}]
- schedulerName: blind
  plugins: {filter: {disabled: [{name: NodeResourcesFit}]}}`,
  )
  await cluster.addNodes(nodeOf('node-p', { cpu: '1' }), nodeOf('node-q', { cpu: '1' }))
  await cluster.addPods(
    ...['a', 'b', 'c'].map(name => podOf(name, { schedulerName: 'by-letter', cpu: '300m' })),
    podOf('too-large', { cpu: '2' }),
    podOf('large-but-blind', { cpu: '2', schedulerName: 'blind' }),
    podOf('nobodys', { schedulerName: 'nobody' }),
  )
  const { a, b, c, ...others } = await cluster.places()
  assert.deepEqual([a, b, c], ['node-q', 'node-q', 'node-q'])
  assert.equal(others['too-large'], '')
  assert.equal(others['nobodys'], '')
  assert.notEqual(others['large-but-blind'], '')
})

test('addedAffinity applies to every pod', async t => {
  const cluster = await startWith(
    t,
    args(
      'NodeAffinity',
      'addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: ' +
        '[{matchExpressions: [{key: pool, operator: In, values: [mine]}]}]}}',
    ),
  )
  await cluster.addNodes(nodeOf('a'), nodeOf('b', { labels: { pool: 'mine' } }), nodeOf('c'))
  await cluster.addPods(podOf('p'), podOf('q', { nodeSelector: { 'kubernetes.io/hostname': 'a' } }))
  assert.deepEqual(await cluster.places(), { p: 'b', q: '' })
  const { status } = await cluster.getPod('q')
  assert.match(
    status?.conditions?.[0]?.message ?? '',
    /^0\/3 nodes are available: 1 .*selector, 2 node\(s\) didn't match scheduler-enforced node affinity\./,
  )
})

test('a Policy of predicates and priorities is translated to plugins', async t => {
  const policy = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Policy',
    predicates: [
      { name: 'PodFitsHostPorts' },
      { name: 'RackIsKnown', argument: { labelsPresence: { labels: ['rack'], presence: true } } },
    ],
    priorities: [
      { name: 'MostRequestedPriority', weight: 1 },
      { name: 'LikesFast', weight: 2, argument: { labelPreference: { label: 'fast', presence: true } } },
    ],
  })
  const { profiles } = await readSchedulerPolicy(policy, contextOf())
  const cluster = await startTestCluster(t, { profiles })
  await cluster.addNodes(
    nodeOf('lost', { labels: { fast: '' } }),
    nodeOf('slow', { labels: { rack: '1' }, cpu: '1' }),
    nodeOf('fast', { labels: { rack: '1', fast: '' }, cpu: '1' }),
    nodeOf('closed', { labels: { rack: '1', fast: '' }, spec: { unschedulable: true } }),
  )
  // No predicate checks resources, so they are ignored.
  await cluster.addPods(podOf('p', { cpu: '8' }), podOf('q', { cpu: '8' }))
  assert.deepEqual(await cluster.places(), { p: 'fast', q: 'fast' })
})

const badPolicies: readonly [object, string][] = [
  [{ predicates: [{ name: 'Unheard' }] }, 'predicates[0]: "Unheard" is unknown or no longer supported'],
  [
    { predicates: [{ name: 'A', argument: { serviceAffinity: { labels: ['a'] } } }] },
    'predicates[0]: serviceAffinity is unknown or no longer supported',
  ],
  [
    { priorities: [{ name: 'Unheard', weight: 1 }] },
    'priorities[0]: "Unheard" is unknown or no longer supported',
  ],
  [{ priorities: [{ name: 'EqualPriority', weight: 0 }] }, 'priorities[0].weight: must be greater than 0'],
  [
    { priorities: [{ name: 'LeastRequestedPriority' }, { name: 'MostRequestedPriority' }] },
    'priorities[1]: only one resource allocation priority is supported, ' +
      '"MostRequestedPriority" is the second',
  ],
  [
    { predicate: [] },
    'Policy in version "v1" cannot be handled as a Policy: strict decoding error: unknown field "predicate"',
  ],
]

for (const [policy, want] of badPolicies) {
  test(`an invalid Policy is rejected: ${JSON.stringify(policy)}`, async () => {
    const text = JSON.stringify({ apiVersion: 'v1', kind: 'Policy', ...policy })
    assert.equal(await errorOf(readSchedulerPolicy(text, contextOf())), want)
  })
}

test('an empty Policy gives the default scheduler', async () => {
  const { profiles } = await readSchedulerPolicy('{"apiVersion": "v1", "kind": "Policy"}', contextOf())
  const [made] = profiles({ ...world.handle, snapshot: () => emptySnapshot })
  const scorers = made!.scorers.map(({ plugin, weight }) => `${plugin.name}:${weight}`)
  assert.ok(scorers.includes('NodeResourcesFit:1'))
  assert.ok(made!.filters.some(({ name }) => name === 'NodeResourcesFit'))
  assert.ok(made!.filters.some(({ name }) => name === 'TaintToleration'))
})

test('httpTimeout of an extender in a Policy is in nanoseconds', async () => {
  const text = JSON.stringify({
    apiVersion: 'v1',
    kind: 'Policy',
    extenders: [
      { urlPrefix: 'http://a', filterVerb: 'filter', enableHttps: false, httpTimeout: 2_000_000_000 },
    ],
  })
  assert.equal(await errorOf(readSchedulerPolicy(text, contextOf())), '')
})
