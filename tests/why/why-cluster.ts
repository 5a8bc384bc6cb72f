import assert from 'node:assert/strict'
import { events, nodes, pods } from '#/api/generated/core/v1-resources.ts'
import type { Pod, PodStatus } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { formatTime } from '#/api/text/time.ts'
import type { Client } from '#/client/client.ts'
import type { Cluster } from '#/testing/testing.ts'
import type { Diagnosis } from '#/why/diagnosis.ts'
import { explain } from '#/why/why.ts'

/** `deployment web`, in the namespace `default`. */
export async function why(
  cluster: Cluster,
  target: string,
  client: Client = cluster.client,
): Promise<Diagnosis> {
  const [kind = '', name = ''] = target.split(' ')
  return explain(client, { kind, name, namespace: 'default' }, { clock: cluster.platform.clock })
}

export interface ExpectedDiagnosis {
  readonly code: Diagnosis['code']
  readonly summary: RegExp
  /** Each matches one line of the evidence. */
  readonly evidence?: readonly RegExp[]
  /** Matches a command. */
  readonly command?: RegExp
}

export function assertDiagnosis(diagnosis: Diagnosis, expected: ExpectedDiagnosis): void {
  assert.match(diagnosis.summary, expected.summary)
  assert.equal(diagnosis.code, expected.code)
  const lines = diagnosis.evidence.map(({ source, text }) => `${source}: ${text}`)
  for (const pattern of expected.evidence ?? []) {
    assert.ok(
      lines.some(line => pattern.test(line)),
      `${pattern} in:\n${lines.join('\n')}`,
    )
  }
  if (expected.command) {
    const commands = diagnosis.remedies.map(({ command }) => command ?? '')
    assert.ok(
      commands.some(command => expected.command?.test(command)),
      `${expected.command} in:\n${commands.join('\n')}`,
    )
  }
}

/** A Deployment `web` with one container `app`. */
export function deploymentOf(
  container: object = {},
  { pod = {}, annotations = {}, replicas = 1 }: DeploymentOptions = {},
): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { namespace: 'default', name: 'web' },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' }, annotations },
        spec: { ...pod, containers: [{ name: 'app', image: 'registry.example.com/web:1', ...container }] },
      },
    },
  }
}

interface DeploymentOptions {
  readonly pod?: object
  readonly annotations?: Readonly<Record<string, string>>
  readonly replicas?: number
}

/** A ready node without a kubelet: tests write what the kubelet would report. */
export async function createSilentNode({ client, clock }: Cluster): Promise<void> {
  await client.create(nodes, { metadata: { name: 'node-1' } })
  const amounts = { cpu: '4', memory: '8Gi', pods: '110' }
  const now = formatTime(clock.now())
  const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: now, lastTransitionTime: now }
  const patch = { status: { conditions: [ready], capacity: amounts, allocatable: amounts } }
  await client.patch(nodes, { name: 'node-1', subresource: 'status' }, { type: 'merge', patch })
  // Until the controller removes the taint of nodes that are not ready.
  await client.patch(nodes, { name: 'node-1' }, { type: 'merge', patch: { spec: { taints: null } } })
}

/** The status and the events of a kubelet for the only pod of the cluster. */
export async function reportStatus(cluster: Cluster, report: KubeletReport): Promise<void> {
  const { client } = cluster
  const [pod] = (await client.list(pods, { namespace: 'default' })).items
  assert.ok(pod)
  const { name } = pod.metadata
  const now = formatTime(cluster.clock.now())
  const status = {
    name: 'app',
    image: 'registry.example.com/web:1',
    imageID: '',
    ready: false,
    restartCount: 0,
  }
  const patch = {
    status: {
      phase: report.phase ?? 'Pending',
      startTime: now,
      conditions: [{ type: 'Ready', status: 'False' }],
      containerStatuses: [{ ...status, ...report.container }],
    },
  }
  await client.patch(
    pods,
    { namespace: 'default', name, subresource: 'status' },
    { type: 'strategic', patch },
  )
  for (const [reason, message] of report.events ?? []) await createEvent(cluster, pod, { reason, message })
}

interface KubeletReport {
  readonly phase?: string
  readonly container: Partial<NonNullable<PodStatus['containerStatuses']>[number]>
  /** Reasons and messages of warnings. */
  readonly events?: readonly (readonly [reason: string, message: string])[]
}

interface EventText {
  readonly reason: string
  readonly message: string
}

async function createEvent({ client, clock }: Cluster, pod: Stored<Pod>, text: EventText): Promise<void> {
  const now = formatTime(clock.now())
  const { namespace = '', name, uid } = pod.metadata
  await client.create(events, {
    metadata: { namespace, generateName: `${name}.` },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
    type: 'Warning',
    firstTimestamp: now,
    lastTimestamp: now,
    count: 1,
    source: { component: 'kubelet' },
    ...text,
  })
}
