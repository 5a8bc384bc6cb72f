import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#/api/metadata.ts'
import { planTopology, type Topology } from './plan-topology.ts'

interface Notation {
  /** `pods/web-0`. */
  readonly id: string
  readonly owner?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
  readonly namespace?: string
}

function plan(notations: readonly Notation[]): Topology {
  const objects = new Map<string, KubernetesObject[]>()
  for (const { id, owner, labels = {}, spec, status, namespace = 'shop' } of notations) {
    const [resource = '', name = ''] = id.split('/')
    const owners = owner ? [{ apiVersion: '', kind: '', name: '', uid: owner, controller: true }] : []
    const metadata = { name, namespace, uid: id, labels, ownerReferences: owners }
    const object = { apiVersion: '', kind: '', metadata, ...(spec && { spec }), ...(status && { status }) }
    objects.set(resource, [...(objects.get(resource) ?? []), object])
  }
  return planTopology(objects)
}

function check(notations: readonly Notation[], expected: readonly string[]): void {
  const short = (id: string): string => id.replace(/^(group\/)?(.*)\/.*\/(.*)$/, '$1$2/$3')
  const { edges } = plan(notations)
  assert.deepEqual(edges.map(({ from, to, type }) => `${short(from)} ${type} ${short(to)}`).sort(), expected)
}

const running = { phase: 'Running', containerStatuses: [{ ready: true, state: { running: {} } }] }
const backendOf = (name: string) => ({ backend: { service: { name } } })

test('planTopology follows owners, selectors, backends and volumes', () => {
  check([], [])
  check(
    [
      { id: 'deployments.apps/web' },
      { id: 'replicasets.apps/web-1', owner: 'deployments.apps/web' },
      { id: 'pods/web-1-a', owner: 'replicasets.apps/web-1', labels: { app: 'web', tier: 'front' } },
    ],
    ['deployments.apps/web owns replicasets.apps/web-1', 'replicasets.apps/web-1 owns pods/web-1-a'],
  )
  check(
    [
      { id: 'services/web', spec: { selector: { app: 'web', tier: 'front' } } },
      { id: 'services/all', spec: {} },
      { id: 'pods/a', labels: { app: 'web', tier: 'front' } },
      { id: 'pods/b', labels: { app: 'web', tier: 'back' } },
      { id: 'pods/c', labels: { app: 'web', tier: 'front' }, namespace: 'other' },
    ],
    ['services/web selects pods/a'],
  )
  check(
    [
      {
        id: 'ingresses.networking.k8s.io/site',
        spec: {
          defaultBackend: { service: { name: 'fallback' } },
          rules: [{ http: { paths: [backendOf('web'), backendOf('web'), backendOf('gone')] } }],
        },
      },
      { id: 'services/web' },
      { id: 'services/fallback' },
    ],
    [
      'ingresses.networking.k8s.io/site routes services/fallback',
      'ingresses.networking.k8s.io/site routes services/web',
    ],
  )
  check(
    [
      { id: 'persistentvolumeclaims/data' },
      { id: 'persistentvolumeclaims/a-scratch' },
      {
        id: 'pods/a',
        spec: {
          volumes: [
            { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
            { name: 'scratch', ephemeral: {} },
            { name: 'other', emptyDir: {} },
          ],
        },
      },
    ],
    ['persistentvolumeclaims/a-scratch mounts pods/a', 'persistentvolumeclaims/data mounts pods/a'],
  )
})

test('planTopology ignores fields of unexpected types', () => {
  check(
    [
      { id: 'pods/a', spec: { volumes: 'x' }, status: { containerStatuses: 7 } },
      { id: 'services/a', spec: { selector: 'x' } },
      { id: 'ingresses.networking.k8s.io/a', spec: { rules: [null, { http: 3 }] } },
    ],
    [],
  )
})

test('planTopology leaves out the old ReplicaSets of deployments', () => {
  const { nodes } = plan([
    { id: 'deployments.apps/web' },
    { id: 'replicasets.apps/old', owner: 'deployments.apps/web', spec: { replicas: 0 } },
    { id: 'replicasets.apps/new', owner: 'deployments.apps/web', spec: { replicas: 1 } },
  ])
  assert.deepEqual(
    nodes.map(({ name }) => name),
    ['web', 'new'],
  )
})

test('planTopology shows the state of objects', () => {
  const { nodes } = plan([
    { id: 'services/web', spec: { selector: { app: 'web' } } },
    { id: 'services/none', spec: { selector: { app: 'none' } } },
    { id: 'deployments.apps/web', spec: { replicas: 3 }, status: { readyReplicas: 1 } },
    { id: 'pods/ok', labels: { app: 'web' }, spec: { containers: [{}] }, status: running },
    {
      id: 'pods/broken',
      labels: { app: 'web' },
      spec: { containers: [{}] },
      status: {
        phase: 'Running',
        containerStatuses: [{ ready: false, state: { waiting: { reason: 'CrashLoopBackOff' } } }],
      },
    },
  ])
  const states = Object.fromEntries(
    nodes.map(({ id, tone, state }) => [id.replace('/shop', ''), `${tone} ${state}`]),
  )
  assert.deepEqual(states, {
    'services/web': 'good 1/2 pods ready',
    'services/none': 'warn no pods',
    'deployments.apps/web': 'warn 1/3 ready',
    'pods/ok': 'good Running 1/1',
    'pods/broken': 'bad CrashLoopBackOff',
  })
})

test('planTopology groups the pods of workloads when there are many, and is bounded', () => {
  const pods = Array.from({ length: 400 }, (_, index) => ({
    id: `pods/web-${index}`,
    owner: 'replicasets.apps/web-1',
    labels: { app: 'web' },
    spec: { containers: [{}] },
    status: index === 7 ? { phase: 'Failed' } : running,
  }))
  const workload = [
    { id: 'services/web', spec: { selector: { app: 'web' } } },
    { id: 'deployments.apps/web', spec: { replicas: 400 }, status: { readyReplicas: 399 } },
    { id: 'replicasets.apps/web-1', owner: 'deployments.apps/web' },
  ]
  const grouped = plan([...workload, ...pods])
  assert.equal(grouped.isGrouped, true)
  assert.deepEqual(
    grouped.nodes.map(({ kind, name, count, tone, state }) => `${kind} ${name} ${count} ${tone} ${state}`),
    [
      'Service web undefined good 399/400 pods ready',
      'Deployment web undefined warn 399/400 ready',
      'Pods web 400 bad 399 Running, 1 Failed',
    ],
  )
  assert.deepEqual(grouped.edges.map(({ from, to }) => `${from} > ${to}`).sort(), [
    'deployments.apps/shop/web > group/deployments.apps/shop/web',
    'services/shop/web > group/deployments.apps/shop/web',
  ])
  const single = plan(Array.from({ length: 1_000 }, (_, index) => ({ id: `pods/${index}`, status: running })))
  assert.equal(single.nodes.length, 300)
  assert.equal(single.hidden, 700)
})

test('planTopology ends with owners in a circle', () => {
  const circle = [
    { id: 'replicasets.apps/a', owner: 'replicasets.apps/b' },
    { id: 'replicasets.apps/b', owner: 'replicasets.apps/a' },
  ]
  const pods = Array.from({ length: 301 }, (_, index) => ({
    id: `pods/${index}`,
    owner: 'replicasets.apps/a',
  }))
  assert.ok(plan([...circle, ...pods]).nodes.length > 0)
})
