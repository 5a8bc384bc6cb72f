/**
 * The mandatory and suggested flow schemas and priority levels of v1.36. See
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/
 */
import type { FlowSchema, PriorityLevelConfiguration } from '#/api/generated/flowcontrol/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'

export function flowControlObjects(): readonly KubernetesObject[] {
  return [...levels, ...schemas] as readonly KubernetesObject[]
}

const apiVersion = 'flowcontrol.apiserver.k8s.io/v1'
const annotations = { 'apf.kubernetes.io/autoupdate-spec': 'true' }

const levels: readonly PriorityLevelConfiguration[] = [
  {
    kind: 'PriorityLevelConfiguration',
    apiVersion,
    metadata: { name: 'exempt', annotations },
    spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
  },
  level('catch-all', { shares: 5, lendable: 0 }),
  level('global-default', { shares: 20, lendable: 50, queues: 128, hand: 6 }),
  level('leader-election', { shares: 10, lendable: 0, queues: 16, hand: 4 }),
  level('node-high', { shares: 40, lendable: 25, queues: 64, hand: 6 }),
  level('system', { shares: 30, lendable: 33, queues: 64, hand: 6 }),
  level('workload-high', { shares: 40, lendable: 50, queues: 128, hand: 6 }),
  level('workload-low', { shares: 100, lendable: 90, queues: 128, hand: 6 }),
]

interface Level {
  readonly shares: number
  readonly lendable: number
  /** Without queues, requests over the limit are rejected. */
  readonly queues?: number
  readonly hand?: number
}

function level(name: string, { shares, lendable, queues, hand }: Level): PriorityLevelConfiguration {
  const limitResponse =
    queues === undefined
      ? { type: 'Reject' }
      : { type: 'Queue', queuing: { queues, handSize: hand ?? 1, queueLengthLimit: 50 } }
  return {
    kind: 'PriorityLevelConfiguration',
    apiVersion,
    metadata: { name, annotations },
    spec: {
      type: 'Limited',
      limited: { nominalConcurrencyShares: shares, lendablePercent: lendable, limitResponse },
    },
  }
}

type Rules = NonNullable<NonNullable<FlowSchema['spec']>['rules']>[number]
type Subject = Rules['subjects'][number]

const everybody = [group('system:unauthenticated'), group('system:authenticated')]
const controllers = [user('system:kube-controller-manager'), user('system:kube-scheduler')]
const systemAccounts = serviceAccount('*')
const everything: Omit<Rules, 'subjects'> = {
  resourceRules: [
    { verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] },
  ],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
}
const leases: Omit<Rules, 'subjects'> = {
  resourceRules: [
    {
      verbs: ['get', 'create', 'update'],
      apiGroups: ['coordination.k8s.io'],
      resources: ['leases'],
      namespaces: ['*'],
    },
  ],
}

const schemas: readonly FlowSchema[] = [
  schema(
    'exempt',
    { precedence: 1, level: 'exempt' },
    { subjects: [group('system:masters')], ...everything },
  ),
  schema(
    'probes',
    { precedence: 2, level: 'exempt' },
    {
      subjects: everybody,
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
    },
  ),
  schema(
    'system-leader-election',
    { precedence: 100, level: 'leader-election', by: 'ByUser' },
    {
      subjects: [...controllers, systemAccounts],
      ...leases,
    },
  ),
  schema(
    'endpoint-controller',
    { precedence: 150, level: 'workload-high', by: 'ByUser' },
    {
      subjects: [
        user('system:kube-controller-manager'),
        serviceAccount('endpoint-controller'),
        serviceAccount('endpointslicemirroring-controller'),
      ],
      resourceRules: [
        { verbs: ['get', 'create', 'update'], apiGroups: [''], resources: ['endpoints'], namespaces: ['*'] },
      ],
    },
  ),
  schema(
    'workload-leader-election',
    { precedence: 200, level: 'leader-election', by: 'ByUser' },
    { subjects: [systemAccounts], ...leases },
  ),
  schema(
    'system-node-high',
    { precedence: 400, level: 'node-high', by: 'ByUser' },
    {
      subjects: [group('system:nodes')],
      resourceRules: [
        {
          verbs: ['*'],
          apiGroups: [''],
          resources: ['nodes', 'nodes/status'],
          clusterScope: true,
          namespaces: ['*'],
        },
        { verbs: ['*'], apiGroups: ['coordination.k8s.io'], resources: ['leases'], namespaces: ['*'] },
      ],
    },
  ),
  schema(
    'system-nodes',
    { precedence: 500, level: 'system', by: 'ByUser' },
    { subjects: [group('system:nodes')], ...everything },
  ),
  schema(
    'kube-controller-manager',
    { precedence: 800, level: 'workload-high', by: 'ByNamespace' },
    {
      subjects: [user('system:kube-controller-manager')],
      ...everything,
    },
  ),
  schema(
    'kube-scheduler',
    { precedence: 800, level: 'workload-high', by: 'ByNamespace' },
    {
      subjects: [user('system:kube-scheduler')],
      ...everything,
    },
  ),
  schema(
    'kube-system-service-accounts',
    { precedence: 900, level: 'workload-high', by: 'ByNamespace' },
    {
      subjects: [systemAccounts],
      ...everything,
    },
  ),
  schema(
    'service-accounts',
    { precedence: 9_000, level: 'workload-low', by: 'ByUser' },
    {
      subjects: [group('system:serviceaccounts')],
      ...everything,
    },
  ),
  schema(
    'global-default',
    { precedence: 9_900, level: 'global-default', by: 'ByUser' },
    { subjects: everybody, ...everything },
  ),
  schema(
    'catch-all',
    { precedence: 10_000, level: 'catch-all', by: 'ByUser' },
    { subjects: everybody, ...everything },
  ),
]

interface FlowSchemaOptions {
  readonly precedence: number
  readonly level: string
  readonly by?: 'ByUser' | 'ByNamespace'
}

function schema(name: string, { precedence, level, by }: FlowSchemaOptions, rules: Rules): FlowSchema {
  return {
    kind: 'FlowSchema',
    apiVersion,
    metadata: { name, annotations },
    spec: {
      matchingPrecedence: precedence,
      priorityLevelConfiguration: { name: level },
      ...(by && { distinguisherMethod: { type: by } }),
      rules: [rules],
    },
  }
}

function group(name: string): Subject {
  return { kind: 'Group', group: { name } }
}

function user(name: string): Subject {
  return { kind: 'User', user: { name } }
}

function serviceAccount(name: string): Subject {
  return { kind: 'ServiceAccount', serviceAccount: { name, namespace: 'kube-system' } }
}
