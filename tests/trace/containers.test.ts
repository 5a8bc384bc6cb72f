/** The trace of a Deployment with a Service on real containers: every hop from kubectl to the service rules */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import type { Hop, Trace } from '#/trace/trace.ts'
import { ownKubectl } from '../clients/kubectl/session.ts'
import { program } from '../node/container-cluster.ts'
import { LastingCluster } from '../node/lasting-cluster.ts'
import { containersMissing } from '../node/test-containerd.ts'
import { registryMissing, TestRegistry } from '../node/test-registry.ts'
import { waitUntil } from '../wait-until.ts'
import { walkthroughHops } from './walkthrough-trace.ts'

const image = 'registry.example.com/team/web:1'
const skip = containersMissing || registryMissing

test('the trace of a Deployment names every hop in order, without unexplained gaps', { skip }, async t => {
  const registry = await TestRegistry.start({ isPrivate: false })
  t.after(() => registry[Symbol.asyncDispose]())
  const flags = [`--registry-mirror=registry.example.com=http://${registry.address}/`]
  const cluster = await LastingCluster.start(t, { flags })
  await push(cluster, registry)

  const traces: TraceDocument[] = []
  for (const name of names) {
    await apply(cluster, name)
    const trace = await completeTrace(cluster, name)
    traces.push(trace)
    if (gapsOf(trace).length === 0) break
    t.diagnostic(`${name}: ${gapsOf(trace).join(', ')}`)
  }
  const trace = traces.at(-1)
  assert.ok(trace)
  // A busy machine may delay anything, but not each time.
  assert.deepEqual(gapsOf(trace), [], `a chain without gaps in ${traces.length} tries`)
  assert.match(await textOf(cluster, trace.target.name), /^began with kubernetes-admin \(kubectl\//m)
  assertStages(trace)
  assertNode(trace)
  assertWalkthrough(trace)
  assert.ok(trace.breakdown.some(({ name }) => name === 'image pull'))
})

const names = ['web-1', 'web-2', 'web-3', 'web-4', 'web-5']

/** The chain of docs/walkthrough.md up to the last status of the pod, and its branches from there. */
const untilReady = [
  'create Deployment',
  'deployment-controller: create ReplicaSet',
  'replicaset-controller: create Pod',
  'default-scheduler: create Pod/binding',
  'kubelet: patch Pod/status',
]
const afterwards = [
  ['endpoint-slice-controller: update EndpointSlice', 'kube-proxy'],
  ['endpoint-slice-controller: update EndpointSlice', 'dns'],
  ['replicaset-controller: update ReplicaSet/status', 'deployment-controller: update Deployment/status'],
]

interface TraceDocument extends Omit<Trace, 'root'> {
  readonly root: string
}

/** The endpoints of a pod become ready with its last status, from which on the other hops follow. */
async function completeTrace(cluster: LastingCluster, name: string): Promise<TraceDocument> {
  const at = { namespace: 'default', name }
  await waitUntil(async () => (await cluster.client.get(deployments, at)).status?.availableReplicas === 1)
  let latest: TraceDocument | undefined
  await waitUntil(async () => {
    latest = JSON.parse(await textOf(cluster, name, '-o', 'json')) as TraceDocument
    return missing(latest).length === 0
  }).catch(() => undefined)
  assert.ok(latest)
  assert.deepEqual(missing(latest), [], 'the chain is complete')
  return latest
}

/** Expected hops that do not come after the ones before them. */
function missing({ hops }: TraceDocument): readonly string[] {
  const ready = hops.findLastIndex(({ actor }) => actor === 'kubelet')
  const after = hops.slice(ready + 1)
  return [
    ...missingFrom(hops.slice(0, ready + 1), untilReady),
    ...afterwards.flatMap(branch => missingFrom(after, branch)),
  ]
}

function missingFrom(hops: readonly Hop[], expected: readonly string[]): readonly string[] {
  let from = 0
  return expected.filter(each => {
    const index = hops.findIndex((hop, at) => at >= from && described(hop).endsWith(each))
    if (index !== -1) from = index + 1
    return index === -1
  })
}

function described({ actor, verb, object, subresource }: Hop): string {
  if (object === undefined) return actor
  return `${actor}: ${verb} ${object.kind}${subresource ? `/${subresource}` : ''}`
}

function gapsOf({ hops }: TraceDocument): readonly string[] {
  return hops.flatMap(hop => {
    const gaps = hop.segments.filter(({ kind }) => kind === 'gap')
    return gaps.map(
      ({ name, durationMs }) => `${described(hop)} @${hop.id}: ${name} ${Math.round(durationMs)} ms`,
    )
  })
}

/** What the API server did with kubectl's request. */
function assertStages({ hops }: TraceDocument): void {
  const stages = hops[0]?.segments.filter(({ kind }) => kind === 'stage').map(({ name }) => name) ?? []
  const expected = ['authentication', 'authorization', 'mutating-admission', 'validating-admission', 'store']
  assert.deepEqual(
    stages.filter(name => expected.includes(name)),
    expected,
  )
}

/** What the node did for the pod, by the time at which it began. */
function assertNode({ hops }: TraceDocument): void {
  const steps = hops
    .filter(({ actor }) => actor === 'kubelet')
    .flatMap(({ segments }) => segments.filter(({ kind }) => kind === 'step'))
    .toSorted((left, right) => left.startedMs - right.startedMs)
    .map(({ name, detail }) => (detail === undefined ? name : `${name} ${detail}`))
  for (const step of ['volumes', `pull ${image}`])
    assert.ok(steps.includes(step), `${step} in ${steps.join(', ')}`)
  const sequence = ['sandbox', 'create web', 'start web', 'readiness-probe web']
  assert.deepEqual(
    steps.filter(step => sequence.includes(step)),
    sequence,
  )
}

/** The hops and steps of the trace that docs/walkthrough.md explains occur, and there are no hops of other kinds. */
function assertWalkthrough({ hops }: TraceDocument): void {
  const real = Map.groupBy(hops, described)
  for (const { name, steps } of walkthroughHops()) {
    const found = (real.get(name) ?? []).flatMap(({ segments }) => ['', ...segments.map(each => each.name)])
    for (const step of ['', ...steps]) assert.ok(found.includes(step), `${name} ${step}`)
  }
  // The EndpointSlice may be created or updated for the pod.
  const withoutVerb = (name: string): string => name.replace(/: \w+ /, ': ')
  const explained = walkthroughHops().map(({ name }) => withoutVerb(name))
  const others = [...real.keys()].filter(name => !explained.includes(withoutVerb(name)))
  assert.deepEqual(others, [], 'hops that docs/walkthrough.md does not explain')
}

async function push({ folders }: LastingCluster, registry: TestRegistry): Promise<void> {
  const target = ['-a', folders.containerdSocket, '-n', 'k8s.io', 'images', 'push', '--plain-http']
  const local = 'docker.io/library/nginx:1.7.9'
  await promisify(execFile)('ctr', [...target, `${registry.address}/team/web:1`, local])
}

async function textOf(
  { folder }: LastingCluster,
  name: string,
  ...words: readonly string[]
): Promise<string> {
  const parameters = ['trace', 'deployment', name, '--kubeconfig', join(folder, 'admin.conf'), ...words]
  return (await promisify(execFile)(program, parameters, { maxBuffer: 32 * 1_048_576 })).stdout
}

/** With kubectl, as a user does. */
async function apply({ folder }: LastingCluster, name: string): Promise<void> {
  const kubectl = spawn(ownKubectl, ['--kubeconfig', join(folder, 'admin.conf'), 'apply', '-f', '-'])
  kubectl.stdin.end(JSON.stringify(manifests(name)))
  const [output, [code]] = await Promise.all([text(kubectl.stderr), once(kubectl, 'exit')])
  assert.equal(code, 0, output)
}

function manifests(name: string): object {
  const labels = { app: name }
  const probe = { httpGet: { path: '/', port: 80 }, periodSeconds: 1 }
  const container = { name: 'web', image, imagePullPolicy: 'Always', readinessProbe: probe }
  const pod = { terminationGracePeriodSeconds: 0, containers: [container] }
  const service = { selector: labels, ports: [{ port: 80 }] }
  const deployment = {
    replicas: 1,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: pod },
  }
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec: service },
      { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name }, spec: deployment },
    ],
  }
}
